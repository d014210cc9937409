//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReaderLeaves: a command whose stdout or stderr nobody reads any more puts its
// files in their places and ends; of a stdout that nobody reads it says nothing.
func TestReaderLeaves(t *testing.T) {
	pkg := packed(t, tiny, "f32")
	for _, c := range []struct {
		args           []string
		stdout, stderr bool // has a reader
		code           int
		left           string
	}{
		{[]string{"run", "--tokens", "1,2,3", "-o", "OUT/l.safetensors", pkg}, false, false, 1, "l.safetensors"},
		{[]string{"run", "--tokens", "1,2,3", "-o", "OUT/l.safetensors", pkg}, true, false, 0, "l.safetensors"},
		{[]string{"run", "--tokens", "1,2,3", "-o", "OUT/l.safetensors", pkg}, false, true, 1, "l.safetensors"},
		{[]string{"run", "--tokens", "1,-2", "-o", "OUT/l.safetensors", pkg}, false, false, 2, ""},
		{[]string{"export", "--format", "onnx", tiny}, false, true, 1, ""},
		{[]string{"diff", tiny, tiny}, false, true, 2, ""},
	} {
		out := t.TempDir()
		args := strings.ReplaceAll(strings.Join(c.args, "\n"), "OUT", out)
		var stderr strings.Builder
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), mainArgs+"="+args)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		cmd.Stdout, cmd.Stderr = w, w
		if c.stdout {
			cmd.Stdout = nil
		}
		if c.stderr {
			cmd.Stderr = &stderr
		}
		err = cmd.Run()
		require.NoError(t, w.Close())
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%+v: %v: %s", c, err, stderr.String())
		require.NotContains(t, stderr.String(), "estream: ", "%+v", c)
		left, err := filepath.Glob(filepath.Join(out, "*"))
		require.NoError(t, err)
		if c.left == "" {
			require.Empty(t, left, "%+v", c)
			continue
		}
		require.Equal(t, []string{filepath.Join(out, c.left)}, left, "%+v", c)
		st, err := os.Stat(left[0])
		require.NoError(t, err)
		require.NotZero(t, st.Size(), "%+v", c)
	}
}
