//go:build unix

package synth_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/synth"
)

// A config.json is a regular file that is not too long, and a link may lead to it from anywhere. What has no end is
// not read, and nobody waits for a pipe.
func TestConfigFile(t *testing.T) {
	dir := t.TempDir()
	pipe, long, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "long"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, 1<<40))
	for path, want := range map[string]string{
		pipe: ": not a regular file (p---------)", "/dev/zero": ": not a regular file (Dc---------)", dir: ": not a regular file (d---------)",
		long: ": 1099511627776 bytes, want at most 16777216", filepath.Join(dir, "none"): ": no such file or directory",
	} {
		_, err := synth.Plan(t.Context(), path, 1, options(t, "w4"))
		require.EqualError(t, err, path+want)
	}
	real, err := filepath.Abs(tiny)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(real, link))
	_, err = synth.Plan(t.Context(), link, 1, options(t, "w4"))
	require.NoError(t, err)
}
