package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mounted is a file system of a few blocks.
func mounted(t *testing.T) string {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	return disk
}

// refusesToWrite has each command that works long write to a disk on which it cannot:
// it says so before it works, fails, and leaves nothing half written.
func refusesToWrite(t *testing.T, disk, want string) {
	pkg := packed(t, tiny, "w4")
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("1,2,3,4\n"), 0o600))
	t.Setenv("TMPDIR", disk)
	for name, args := range map[string][]string{
		"logits":      {"run", "--tokens", "1,2,3", "--logits", "all", "-o", "OUT", pkg},
		"timeline":    {"run", "--tokens", "1,2,3", "--trace", "OUT", pkg},
		"bench":       {"bench", "-p", "8", "-r", "1", "--trace", "OUT", pkg},
		"drawing":     {"trace", "--tokens", "1,2,3", "-o", "OUT", pkg},
		"trace":       {"trace", "--tokens", "1,2,3", pkg},
		"diff":        {"diff", "--tokens", "1,2,3", pkg, pkg},
		"plot":        {"plan", "--plot", "OUT", pkg},
		"calibration": {"calibrate", "--batch", "4", "--tokens-file", tokens, "-o", "OUT", pkg},
		"export":      {"export", "-o", "OUT", pkg},
		"page":        {"inspect", "--html", "OUT", pkg},
		"package":     {"pack", "--encoding", "w4", tiny, "OUT"},
		"repacked":    {"repack", "--backend", "qnn-cpu", pkg, "OUT"},
		"synthesized": {"synth", "--config", tiny, "OUT"},
		"checkpoint":  {"synth", "--checkpoint", "--config", tiny, "OUT"},
	} {
		out := filepath.Join(disk, fmt.Sprint(name, ".svg"))
		for i, a := range args {
			if a == "OUT" {
				args[i] = out
			}
		}
		r := run(args...)
		require.NotZero(t, r.code, "%s: %s", name, r.errors)
		require.Regexp(t, want, r.errors, name)
		require.Contains(t, r.errors, disk, name)
		require.NotContains(t, r.errors, "plan: ", name)
		require.Empty(t, r.out, name)
		left, err := filepath.Glob(out + "*")
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}

func TestFullDisk(t *testing.T) {
	ownCache(t)
	disk := mounted(t)
	filler := filepath.Join(disk, "filler")
	require.ErrorIs(t, os.WriteFile(filler, bytes.Repeat([]byte{1}, 1<<20), 0o600), unix.ENOSPC)
	refusesToWrite(t, disk, "no space left on device|are free")

	require.NoError(t, os.Truncate(filler, 40<<10))
	r := run("run", "--tokens", strings.Repeat("7,", 49)+"7", "--logits", "all", "-o", filepath.Join(disk, "logits"), packed(t, tiny, "w4"))
	require.Equal(t, 1, r.code)
	require.Regexp(t, `^estream: --output: 31\.2 KiB are to be written and 2\d\.0 KiB are free in `+disk+`: make room there or name another place\n$`, r.errors)
}

func TestReadOnlyDisk(t *testing.T) {
	ownCache(t)
	disk := mounted(t)
	require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	refusesToWrite(t, disk, "read-only file system|bytes are needed") // synth asks for its size first
}

// A file that must not be replaced is no place for another.
func TestImmutable(t *testing.T) {
	disk := t.TempDir()
	out := filepath.Join(disk, "out")
	f, err := os.Create(out)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	const immutable = 0x10 // FS_IMMUTABLE_FL
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Skipf("the file system has no flag for that, or it takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)) })
	r := run("run", "--tokens", "1,2,3", "-o", out, packed(t, tiny, "w4"))
	require.Equal(t, 1, r.code)
	require.Equal(t, "estream: --output: no file can be written in the folder "+disk+": name another place: open "+out+": operation not permitted\n", r.errors)
	left, err := os.ReadDir(disk)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
