package qnn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/qnn"
)

func TestParseSoC(t *testing.T) {
	for s, want := range map[string]string{
		"SM8650": "SM8650 (v75)", "69": "SM8750 (v79)", "v75": "SM8650 (v75)", "v79": "SM8750 (v79)", "v81": "SM8850 (v81)", "v73": "SM8550 (v73)", "sm8650-ac": "SM8650 (v75)",
	} {
		c, err := qnn.ParseSoC(s)
		require.NoError(t, err)
		require.Equal(t, want, c.String(), s)
	}
	const unknown = `: give a name such as SM8750, its number in QNN such as 69, or a generation such as v79`
	for s, want := range map[string]string{
		"":       `unknown chip ""` + unknown,
		"v9":     `unknown chip "v9"` + unknown,
		"0":      `unknown chip "0"` + unknown,
		"SM7325": `SM7325: HTP of SM7325 (v68) computes in whole numbers only, and graphs are made in half precision: choose another chip, such as SM8750`,
	} {
		_, err := qnn.ParseSoC(s)
		require.EqualError(t, err, want)
	}
}

// A device without libraries tells what it is asked, what is missing, and does not run.
func TestNoLibraries(t *testing.T) {
	empty, odd := t.TempDir(), t.TempDir()
	d := qnn.CPU(qnn.Options{Folder: empty})
	require.NoError(t, d.Supports(&ir.Value{Op: ir.Add, Type: ir.Tensor(ir.F32, ir.N(2))}))
	require.NotEmpty(t, d.Ops())
	_, err := d.Libraries()
	require.ErrorContains(t, err, "qnn-cpu: no library of QNN in "+empty)
	require.ErrorContains(t, err, "tools/qnn-libs")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.EqualError(t, d.Open(), err.Error())
	_, err = d.Compile(t.Context(), parse(t, productText), qnn.Packing())
	require.ErrorContains(t, err, "qnn-cpu: graph g: no library of QNN in "+empty)
	require.NoError(t, d.Close())

	folder := libraries(t, "libQnnHtp.so")
	require.NoError(t, os.Symlink(filepath.Join(folder, "libQnnHtp.so"), filepath.Join(odd, "libQnnHtp.so")))
	require.EqualError(t, qnn.CPU(qnn.Options{Folder: odd}).Open(), "qnn-cpu: no libQnnCpu.so in "+odd+": install QAIRT 2.47, the last whose wheel has it, with tools/qnn-libs 2.3.0 and name its folder with ESTREAM_QNN_LIBS")
	said, err := qnn.HTP(qnn.Options{Folder: odd, SoC: "v81"}).Libraries()
	require.NoError(t, err)
	require.Regexp(t, `/libQnnHtp.so, QAIRT 2\.\d+\.\d+\.\d+, for SM8850 \(v81\)$`, said)
	whole, err := os.ReadFile(filepath.Join(folder, "libQnnHtp.so"))
	require.NoError(t, err)
	cut := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(folder, "libQnnSystem.so"), filepath.Join(cut, "libQnnSystem.so")))
	require.NoError(t, os.WriteFile(filepath.Join(cut, "libQnnHtp.so"), whole[:100_000], 0o666))
	require.EqualError(t, qnn.HTP(qnn.Options{Folder: cut}).Open(), "qnn-htp: "+filepath.Join(cut, "libQnnHtp.so")+": no library: EOF: copy it again")
	require.EqualError(t, qnn.HTP(qnn.Options{Folder: odd, SoC: "SM1"}).Open(), `qnn-htp: unknown chip "SM1": give a name such as SM8750, its number in QNN such as 69, or a generation such as v79`)
}
