package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const killedDir = "LAYOUT_TEST_KILLED_DIR"

// TestKilled runs itself as a process that is killed while it writes.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(killedDir); dir != "" {
		writeUntilKilled(t, dir)
	}
	dir := filepath.Join(t.TempDir(), "pkg")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killedDir+"="+dir)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", out)
	require.FileExists(t, filepath.Join(dir+partialSuffix, insideName, ExpertsName), "%s", out)

	_, err = Open(dir)
	require.ErrorIs(t, err, ErrNotPackage)
	_, err = Open(dir + partialSuffix)
	require.ErrorIs(t, err, ErrNotPackage)
	_, err = Open(filepath.Join(dir+partialSuffix, insideName))
	require.ErrorIs(t, err, ErrNotPackage)
	require.Len(t, finish(t, dir, written(t)), 15, "ten records were synced and entered")
}

func writeUntilKilled(t *testing.T, dir string) {
	s := newSource(t)
	w, err := Create(t.Context(), dir, s.plan, CreateOptions{Sync: 1})
	require.NoError(t, err)
	for _, step := range s.steps(w)[:10] {
		require.NoError(t, step())
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Kill())
	select {} // until the signal arrives
}
