//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// IR text may come from pipes, as a shell's <(...) has it.
func TestDiffPipes(t *testing.T) {
	args := []string{"diff"}
	for _, text := range []string{silu, strings.Replace(silu, "silu", "sigmoid", 1)} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		go os.WriteFile(pipe, []byte(text), 0o600)
		args = append(args, pipe)
	}
	r := run(args...)
	require.Equal(t, 1, r.code, r.errors)
	require.Contains(t, r.out, "graph     m\n")
}
