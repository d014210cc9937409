package pack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/pager/layout"
)

// tmpfs mounts a file system of that many bytes.
func tmpfs(t *testing.T, size int) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("a small file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	return dir
}

// U13: a file system of 1 MiB is too small before anything is written to it.
func TestTooSmallDisk(t *testing.T) {
	disk := tmpfs(t, 1<<20)
	c := smallToy()
	c.vocab = 8000
	_, err := Run(t.Context(), c.write(t), filepath.Join(disk, "pkg"), options(t, "w4"))
	require.Error(t, err)
	require.Regexp(t, `^create `+disk+`/pkg: \d{7} bytes are still to be written and \d+ are free in `+disk+`; make room for \d+ more or name another place$`, err.Error())
	requireOnly(t, disk)
}

// U13: somebody fills the disk in the middle; once there is room again the
// conversion goes on, and asks for no more than what it lacks.
func TestDiskFillsUp(t *testing.T) {
	disk := tmpfs(t, 1<<20)
	c := smallToy()
	from := c.write(t)
	want, _ := packed(t, from, options(t, "w4"))
	dir, filler := filepath.Join(disk, "pkg"), filepath.Join(disk, "filler")
	o := options(t, "w4")
	o.Sync, o.Workers = 1, 1
	o.Progress = func(done, total int64) {
		if done > total/3 {
			fill(t, filler)
		}
	}
	_, err := Run(t.Context(), from, dir, o)
	var u *Unfinished
	require.ErrorAs(t, err, &u)
	require.ErrorIs(t, err, unix.ENOSPC)
	require.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("%s is unfinished, %.1f %% of it is kept; the disk is full: make room and run the same command again to go on, or with --restart to begin anew: ",
		dir, 100*float64(u.Kept)/float64(u.Total))), "%v", err)
	require.Regexp(t, `(layer \d (expert|dense) \d|rows "embed.weight"): write .*/pkg.partial/package/(experts|dense).bin: no space left on device`, err.Error())
	_, err = layout.Open(dir)
	require.ErrorIs(t, err, layout.ErrNotPackage)

	o = options(t, "w4")
	_, err = Run(t.Context(), from, dir, o)
	require.Error(t, err)
	require.Regexp(t, `^create `+dir+`: \d+ bytes are still to be written and 0 are free in `+disk+`; make room for \d+ more or name another place$`, err.Error())

	require.NoError(t, os.Truncate(filler, 1<<20-400<<10)) // less than all of the package
	kept := int64(0)
	o.Resumed = func(n, _ int64) { kept = n }
	_, err = Run(t.Context(), from, dir, o)
	require.NoError(t, err)
	require.Equal(t, u.Kept, kept)
	requireSame(t, want, dir)
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("fill: %v", err)
	}
}
