package bench

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The scripts that run estream beside other programs have tests of their own. They
// run in a copy, whose making has go test see when they change.
func TestPeerScripts(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../bench/peers")))
	out, err := exec.CommandContext(t.Context(), python, "-m", "unittest", "discover", "-s", dir, "-p", "*_test.py").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `Ran [1-9]`, string(out))
	t.Logf("%s", out)
}
