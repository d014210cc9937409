package runtime_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/pager"
	"estream/pager/layout"
	"estream/runtime"
)

// TestReadOnlyPackage runs a package on a file system that takes no writes, which then has no room either.
func TestReadOnlyPackage(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	from := packed(t, tiny, "w4")
	dir, b := filepath.Join(disk, "pkg"), runtime.Batch{Prompts: openGolden(t).ragged(), Logits: runtime.All}
	want := run(t, open(t, from, runtime.Options{}), b).Logits
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	require.ErrorIs(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600), unix.EROFS)
	for _, schedule := range schedules {
		m, err := runtime.Open(t.Context(), dir, runtime.Options{Schedule: schedule})
		require.NoError(t, err)
		for range 2 {
			requireBits(t, want, run(t, m, b).Logits, "%v, read only", schedule)
		}
		require.NoError(t, m.Close())
	}
}

// unaligned has a file read through the page cache.
type unaligned struct{ pager.Source }

func (u unaligned) ReadAt(ctx context.Context, p []byte, off int64) error {
	mem := make([]byte, len(p)+1)
	if err := u.Source.ReadAt(ctx, mem[1:], off); err != nil {
		return err
	}
	copy(p, mem[1:])
	return nil
}

// TestSqueezed runs a package whose files are thrown out of the page cache all the time, and read back in by somebody else.
func TestSqueezed(t *testing.T) {
	dir, b := packed(t, tiny, "w4"), runtime.Batch{Prompts: openGolden(t).ragged(), Logits: runtime.All}
	want := run(t, open(t, dir, runtime.Options{}), b).Logits
	ctx, cancel := context.WithCancel(t.Context())
	var squeezes atomic.Int32
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			if err := squeeze(dir); err != nil {
				t.Error(err)
				return
			}
			squeezes.Add(1)
			time.Sleep(time.Millisecond)
		}
	})
	for _, cached := range []bool{false, true} {
		begun := squeezes.Load()
		for i := 0; i < 10 || squeezes.Load() < begun+10 && !t.Failed(); i++ {
			m := open(t, dir, runtime.Options{Schedule: schedules[i%4], Readers: 1 + i%4, Source: func(path string) (pager.Source, error) {
				f, err := pager.OpenFile(path)
				if err != nil || !cached {
					return f, err
				}
				return unaligned{f}, nil
			}})
			requireBits(t, want, run(t, m, b).Logits, "run %d, through the page cache %v", i, cached)
		}
	}
	cancel()
	group.Wait()
}

// squeeze takes the weights out of the page cache, and reads one file back.
func squeeze(dir string) error {
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		f.Close()
		if err != nil {
			return err
		}
	}
	_, err := os.ReadFile(filepath.Join(dir, layout.DenseName))
	return err
}
