package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFullDisk has each command write to a disk without room: it says so, fails, and leaves nothing half written.
func TestFullDisk(t *testing.T) {
	ownCache(t)
	disk, pkg := t.TempDir(), packed(t, tiny, "w4")
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	require.ErrorIs(t, os.WriteFile(filepath.Join(disk, "filler"), bytes.Repeat([]byte{1}, 1<<20), 0o600), unix.ENOSPC)
	for name, args := range map[string][]string{
		"logits":   {"run", "--tokens", "1,2,3", "--logits", "all", "-o", "OUT", pkg},
		"timeline": {"run", "--tokens", "1,2,3", "--trace", "OUT", pkg},
		"plot":     {"plan", "--plot", "OUT", pkg},
		"package":  {"pack", "--encoding", "w4", tiny, "OUT"},
	} {
		out := filepath.Join(disk, fmt.Sprint(name, ".svg"))
		for i, a := range args {
			if a == "OUT" {
				args[i] = out
			}
		}
		r := run(args...)
		require.Equal(t, 1, r.code, "%s: %s", name, r.errors)
		require.Contains(t, r.errors, "no space left on device", name)
		left, err := filepath.Glob(out + "*")
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}
