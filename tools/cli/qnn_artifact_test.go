package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run loads what the package keeps for its device, and refuses what is for
// others; values that are tapped are no part of it: those graphs are compiled.
func TestQNNArtifact(t *testing.T) {
	qnnLibrary(t, "libQnnHtp.so")
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "f32", tiny, dir)
	ok(t, "prepare", "--soc", "v79", dir)
	t.Setenv("ESTREAM_QNN_SOC", "v75")
	r := run("run", "--tokens", "1,2,3", "--backend", "qnn-htp", dir)
	require.Equal(t, 1, r.code)
	require.Regexp(t, `none of its compiled programs is for this device: qnn-htp: a context binary: made for HTP v79, QAIRT 2\.[\d.]+; the device has HTP v75, QAIRT 2\.[\d.]+: another generation: make it anew for v75, .*: estream prepare --soc v75 `, r.errors)
	t.Setenv("ESTREAM_QNN_SOC", "SM8750")
	require.Contains(t, ok(t, "run", "--tokens", "1,2,3", "--backend", "qnn-htp", dir).out, "token")
	require.Regexp(t, `21 values of p33 are within 0.02 of `, ok(t, "check", "--tolerance", "0.02", "--backend", "qnn-htp", "--golden", goldens, dir).out)
}

// A run tells of binaries that a setting leaves unused, and of none that it loads.
func TestQNNArtifactLeft(t *testing.T) {
	qnnLibrary(t, "libQnnHtp.so")
	if testing.Short() {
		t.Skip("compiles graphs for half a minute")
	}
	dir := filepath.Join(t.TempDir(), "p")
	t.Setenv("ESTREAM_QNN_SOC", "v79")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "f32", tiny, dir)
	notes := func(env ...string) string {
		if len(env) > 0 {
			t.Setenv(env[0], env[1])
			defer t.Setenv(env[0], "")
		}
		r := run("run", "--tokens", "1,2,3", "--backend", "qnn-htp", dir)
		require.Zero(t, r.code, r.errors)
		return regexp.MustCompile(`(?m)^note: .*qnn-htp\.v79.*$`).FindString(r.errors)
	}
	require.Empty(t, notes(), "nothing is kept")
	ok(t, "prepare", "--soc", "v79", dir)
	require.Empty(t, notes(), "it fits")
	require.Regexp(t, `left.*rows of the head none, this run has 1,16,64 \(ESTREAM_QNN_HEAD=device\): to make it anew: ESTREAM_QNN_HEAD=device estream prepare --soc v79 `, notes("ESTREAM_QNN_HEAD", "device"))
	require.Regexp(t, `only experts are taken: ESTREAM_QNN_WEIGHTS=inside has the graphs of 3 layers`, notes("ESTREAM_QNN_WEIGHTS", "inside"))
	ids := filepath.Join(t.TempDir(), "ids")
	require.NoError(t, os.WriteFile(ids, []byte("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n"), 0o600))
	ok(t, "calibrate", "--batch", "16", "--tokens-file", ids, "--row-tiers", "3,9", "--groups", "1", dir)
	require.Regexp(t, `rows of an expert 1,4,16,64, this run has 3,9 \(by the package's calibration\)`, notes())
	ok(t, "prepare", "--soc", "v79", dir)
	require.Empty(t, notes(), "the calibration is of the package that was prepared")
	require.Contains(t, ok(t, "inspect", dir).out, "compiled  programs T1,16,64 S64,512,4096 R3,9 of qnn-htp for v79")
}
