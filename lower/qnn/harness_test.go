package qnn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
)

// libraries returns the folder of the vendor's libraries that has one of a name,
// or skips the test.
func libraries(t testing.TB, library string) string {
	t.Helper()
	dir := os.Getenv("ESTREAM_QNN_LIBS")
	if dir == "" {
		t.Skip("ESTREAM_QNN_LIBS names no folder with QNN's libraries: tools/qnn-libs installs them")
	}
	if _, err := os.Stat(filepath.Join(dir, library)); err != nil {
		t.Skipf("no %s: %v", library, err)
	}
	return dir
}

// cpu opens the reference library until the test ends.
func cpu(t testing.TB) *qnn.Device {
	t.Helper()
	d := qnn.CPU(qnn.Options{Folder: libraries(t, "libQnnCpu.so")})
	require.NoError(t, d.Open())
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// htp opens the emulation of SM8750 (v79) until the test ends.
func htp(t testing.TB, whole bool) *qnn.Device {
	t.Helper()
	d := qnn.HTP(qnn.Options{Folder: libraries(t, "libQnnHtp.so"), SoC: "v79", Whole: whole})
	require.NoError(t, d.Open())
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// suite is what lowertest needs to run on b, the host running the rest.
func suite(b *static.Backend) lowertest.Options {
	return lowertest.Options{
		Tiered:  true,
		Refuses: []string{"append", "embed", "experts", "gather", "gather_rows", "matmul", "onehot", "quantize", "scatter_add", "topk"},
		Half:    lowertest.Tolerance{Rel: 1.0 / 100, Why: "its own keys and values are not rounded to 16 bits when it attends to them"},
		Prepare: func(m *ir.Module) error {
			return passes.Run(m, passes.Open(b.Target(host.New(host.Options{}))), nil)
		},
	}
}
