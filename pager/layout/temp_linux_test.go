package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a killed process left is swept, what a living one writes is not, nor anything else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.json")
	numbered := func(name string) bool { return strings.HasPrefix(name, "c.json.") }
	names := func() (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.json"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.json.1"), nil, 0o600))
	require.NoError(t, os.Symlink("b.json.1", filepath.Join(dir, "c.json.2")))
	others := names()

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSweepHolder$")
	cmd.Env = append(os.Environ(), holderVariable+"="+path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	mine, err := CreateTemp(path, ".new")
	require.NoError(t, err)
	require.NoError(t, Sweep(dir, numbered))
	require.Len(t, names(), len(others)+2, "a living process's and mine")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Len(t, names(), len(others)+2)
	require.NoError(t, Sweep(dir, numbered))
	require.ElementsMatch(t, append([]string{filepath.Base(mine.Name())}, others...), names())
	require.NoError(t, mine.Close())
	require.NoError(t, Sweep(dir, numbered))
	require.Equal(t, others, names())
}

const holderVariable = "LAYOUT_TEST_HOLDER"

// TestSweepHolder is the process of TestSweep.
func TestSweepHolder(t *testing.T) {
	path := os.Getenv(holderVariable)
	if path == "" {
		t.Skip("TestSweep says what to hold")
	}
	f, err := CreateTemp(path, "")
	require.NoError(t, err)
	os.Stdout.WriteString("x")
	os.Stdin.Read(make([]byte, 1)) // for ever
	f.Close()
}

// A file has the mode of what it replaces, else that of any new file.
func TestCreateTempMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	path := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ old, want os.FileMode }{{0, 0o640}, {0o600, 0o600}, {0o664, 0o664}, {0o444, 0o444}} {
		if c.old != 0 {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Chmod(path, c.old))
		}
		f, err := CreateTemp(path, ".new")
		require.NoError(t, err)
		require.Regexp(t, `/f\.[0-9]+\.new$`, f.Name())
		info, err := f.Stat()
		require.NoError(t, err)
		require.Equal(t, c.want, info.Mode().Perm(), "in place of %v", c.old)
		require.NoError(t, f.Close())
		os.Remove(path)
	}
}
