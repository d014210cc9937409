//go:build linux || darwin

package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// An output that is a file which the command has open is written to behind what is there.
func TestOutputInherited(t *testing.T) {
	want := ok(t, "export", tiny).out
	path := filepath.Join(t.TempDir(), "f")
	for name, give := range map[string]func(*exec.Cmd, *os.File){
		"/dev/stdout": func(c *exec.Cmd, f *os.File) { c.Stdout = f },
		"/dev/stderr": func(c *exec.Cmd, f *os.File) { c.Stderr = f },
		"/dev/fd/3":   func(c *exec.Cmd, f *os.File) { c.ExtraFiles = []*os.File{f} },
		path:          func(c *exec.Cmd, f *os.File) { c.Stdout = f },
	} {
		require.NoError(t, os.WriteFile(path, []byte("keep\n"), 0o600))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join([]string{"export", "-o", name, tiny}, "\n"))
		give(cmd, f)
		require.NoError(t, cmd.Run(), name)
		require.NoError(t, f.Close())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "keep\n"+want, string(got), name)
	}
}

// What stdin gives is read from a file that the output may not replace.
func TestOutputSparesStdin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.ir")
	text := ok(t, "opt", "--passes", "pack", tiny).out
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	in, err := os.Open(path)
	require.NoError(t, err)
	defer in.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join([]string{"export", "-o", path, "-"}, "\n"))
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &said
	require.Error(t, cmd.Run())
	require.Equal(t, "estream: --output: - is what the command reads: name another\n", said.String())
}

// A new file has the mode that others get, one that is replaced keeps its own.
func TestOutputMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	folder := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"new": 0o640, "private": 0o600, "shared": 0o664, "readable": 0o444} {
		path := filepath.Join(folder, name)
		if name != "new" {
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			require.NoError(t, os.Chmod(path, mode))
		}
		ok(t, "export", "-o", path, tiny)
		st, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, st.Mode(), name)
		require.Greater(t, st.Size(), int64(100), name)
	}
}

// Another user's file in a sticky folder cannot be replaced, which is known before the work.
func TestOutputSticky(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user's file takes root to make")
	}
	const nobody, other = 65534, 1234
	folder := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
	require.NoError(t, os.Chmod(folder, 0o777|fs.ModeSticky))
	theirs, own := filepath.Join(folder, "theirs"), filepath.Join(folder, "own")
	for path, user := range map[string]int{theirs: other, own: nobody} {
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
		require.NoError(t, os.Chown(path, user, user))
		require.NoError(t, os.Chmod(path, 0o666))
	}
	require.NoError(t, syscall.Seteuid(nobody))
	refused, wrote := run("export", "-o", theirs, "../../testdata/configs/Qwen3-30B-A3B.config.json"), run("export", "-o", own, "../../testdata/configs/Qwen3-30B-A3B.config.json")
	require.NoError(t, syscall.Seteuid(0))
	require.Equal(t, "estream: --output: no file can be written in the folder "+folder+": name another place: replace "+theirs+": operation not permitted\n", refused.errors)
	require.Zero(t, wrote.code, wrote.errors)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 2)
}
