package cli_test

import (
	"path/filepath"
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
	require.Regexp(t, `none of its compiled programs is for this device: qnn-htp: a context binary: made for HTP v79, QAIRT 2\.[\d.]+; the device has HTP v75, QAIRT 2\.[\d.]+: another generation: make it anew for v75`, r.errors)
	t.Setenv("ESTREAM_QNN_SOC", "SM8750")
	require.Contains(t, ok(t, "run", "--tokens", "1,2,3", "--backend", "qnn-htp", dir).out, "token")
	require.Regexp(t, `21 values of p33 are within 0.02 of `, ok(t, "check", "--tolerance", "0.02", "--backend", "qnn-htp", "--golden", goldens, dir).out)
}
