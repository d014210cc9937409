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
// it says so, and why, before it works, fails, and leaves nothing half written.
func refusesToWrite(t *testing.T, disk, why, diff string) {
	pkg := packed(t, tiny, "w4")
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("1,2,3,4\n"), 0o600))
	t.Setenv("TMPDIR", disk)
	file, folder := ": no file can be written in the folder DISK: (make room there or )?name another place: .*"+why, "create OUT: (write OUT.partial/journal.new|mkdir OUT.partial): "+why
	for name, c := range map[string]struct {
		want string
		args []string
	}{
		"logits":      {"--output" + file, []string{"run", "--tokens", "1,2,3", "--logits", "all", "-o", "OUT", pkg}},
		"timeline":    {"--trace" + file, []string{"run", "--tokens", "1,2,3", "--trace", "OUT", pkg}},
		"bench":       {"--trace" + file, []string{"bench", "-p", "8", "-r", "1", "--trace", "OUT", pkg}},
		"drawing":     {"--output" + file, []string{"trace", "--tokens", "1,2,3", "-o", "OUT", pkg}},
		"trace":       {"the trace waits in a temporary file: set TMPDIR to a folder that can be written to: .*DISK.*" + why, []string{"trace", "--tokens", "1,2,3", pkg}},
		"diff":        {"logits wait in a temporary file: " + diff, []string{"diff", "--tokens", "1,2,3", pkg, pkg}},
		"plot":        {"--plot" + file, []string{"plan", "--plot", "OUT", pkg}},
		"calibration": {"--output" + file, []string{"calibrate", "--batch", "4", "--tokens-file", tokens, "-o", "OUT", pkg}},
		"export":      {"--output" + file, []string{"export", "-o", "OUT", pkg}},
		"page":        {"--html" + file, []string{"inspect", "--html", "OUT", pkg}},
		"package":     {folder, []string{"pack", "--encoding", "w4", tiny, "OUT"}},
		"repacked":    {folder, []string{"repack", "--backend", "qnn-cpu", pkg, "OUT"}},
		"synthesized": {folder, []string{"synth", "--config", tiny, "OUT"}},
		"checkpoint":  {`create OUT: \d+ bytes are needed and \d+ are free; make room or name another place`, []string{"synth", "--checkpoint", "--config", tiny, "OUT"}},
	} {
		out := filepath.Join(disk, fmt.Sprint(name, ".svg"))
		is := strings.NewReplacer("OUT", out, "DISK", disk).Replace
		for i, a := range c.args {
			c.args[i] = is(a)
		}
		r := run(c.args...)
		require.NotZero(t, r.code, "%s: %s", name, r.errors)
		require.Regexp(t, "^estream: "+is(c.want)+"\n$", r.errors, name)
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
	refusesToWrite(t, disk, "no space left on device", "1920 bytes are needed and 0 are free in DISK: make room there, or set TMPDIR to another folder")

	require.NoError(t, os.Truncate(filler, 40<<10))
	r := run("run", "--tokens", strings.Repeat("7,", 49)+"7", "--logits", "all", "-o", filepath.Join(disk, "logits"), packed(t, tiny, "w4"))
	require.Equal(t, 1, r.code)
	require.Regexp(t, `^estream: --output: 31\.2 KiB are to be written and 2\d\.0 KiB are free in `+disk+`: make room there or name another place\n$`, r.errors)
}

func TestReadOnlyDisk(t *testing.T) {
	ownCache(t)
	disk := mounted(t)
	require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	refusesToWrite(t, disk, "read-only file system", "set TMPDIR to a folder that can be written to: open DISK.*: read-only file system")
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

// A disk that fills while a file is written is told of with the flag, the file's own name
// and what to do.
func TestDiskFills(t *testing.T) {
	disk := mounted(t)
	f := filepath.Join(disk, "filler")
	require.ErrorIs(t, os.WriteFile(f, bytes.Repeat([]byte{1}, 1<<20), 0o600), unix.ENOSPC)
	require.NoError(t, os.Truncate(f, 56<<10))
	out := filepath.Join(disk, "out.html")
	for flag, args := range map[string][]string{
		"html":   {"inspect", "--html", out, packed(t, tiny, "w4")},
		"output": {"export", "--format", "json", "-o", out, packed(t, tiny, "w4")},
		"trace":  {"run", "--tokens", strings.Repeat("7,", 49) + "7", "--trace", out, packed(t, tiny, "w4")},
	} {
		r := run(args...)
		require.Equal(t, "estream: --"+flag+": no file can be written in the folder "+disk+": make room there or name another place: write "+out+": no space left on device\n", r.errors[strings.Index(r.errors, "estream: "):])
		left, err := os.ReadDir(disk)
		require.NoError(t, err)
		require.Len(t, left, 1, flag)
	}
}

// A file that is mounted in its place cannot be replaced, and is written to.
func TestOutputMounted(t *testing.T) {
	folder := t.TempDir()
	from, at := filepath.Join(folder, "from"), filepath.Join(folder, "at")
	for _, path := range []string{from, at} {
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("old"), 1<<20), 0o600))
	}
	if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("a file cannot be mounted, which takes root: %v", err)
	}
	defer func() { require.NoError(t, unix.Unmount(at, 0)) }()
	ok(t, "export", "-o", at, tiny)
	got, err := os.ReadFile(from)
	require.NoError(t, err)
	require.Equal(t, ok(t, "export", tiny).out, string(got))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 2)
	require.NoError(t, unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	require.Contains(t, run("export", "-o", at, tiny).errors, "name another place: open "+at+": read-only file system\n")
}
