package gguf_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/models/checkpoint/checkpointtest"
	"estream/models/checkpoint/gguf"
)

// TestDirect: large tensors, at odd places of a file that ends within a block of the disk, are read past the page cache
// where the file system grants it, and are what the bytes of the file are.
func TestDirect(t *testing.T) {
	const rows, width = 7, 256 * 1125
	g, rng := small(), rand.NewChaCha8([32]byte{5})
	for i, kind := range []struct{ id, block, bytes int }{{8, 32, 34}, {14, 256, 210}, {1, 1, 2}} {
		data := make([]byte, rows*width/kind.block*kind.bytes)
		rng.Read(data)
		g.Tensors = append(g.Tensors, checkpointtest.Stored{Name: string(rune('x' + i)), Type: uint32(kind.id), Shape: []int{rows, width}, Data: data})
	}
	path := filepath.Join(t.TempDir(), "x.gguf")
	require.NoError(t, g.Write(path))
	size := int64(len(g.Bytes()))
	require.NotZero(t, size%4096, "a file of whole blocks")
	uncached(t, path)

	memory, err := gguf.OpenBytes(g.Bytes())
	require.NoError(t, err)
	c := open(t, path)
	for _, tensor := range []string{"x", "y", "z"} {
		for row := range rows {
			n := 1 + row%2*min(1, rows-1-row) // one row, two rows
			got, want := make([]float32, n*width), make([]float32, n*width)
			require.NoError(t, c.Read(t.Context(), tensor, row, n, got))
			require.NoError(t, memory.Read(t.Context(), tensor, row, n, want))
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("tensor %s, %d rows from %d, element %d: got %v, want %v", tensor, n, row, i, got[i], want[i])
				}
			}
		}
	}
	if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0); err == nil {
		f.Close()
		for off := size / 4; off < size; off += size / 4 {
			require.False(t, cached(t, path, off), "byte %d of %d is in the page cache", off, size)
		}
	}
}

// uncached takes a file out of the page cache.
func uncached(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Sync())
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// cached reports whether a byte of a file can be read without waiting for the disk.
func cached(t *testing.T, path string, off int64) bool {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, off, unix.RWF_NOWAIT)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
		t.Skip("the system does not tell what is in the page cache")
	case !errors.Is(err, unix.EAGAIN):
		require.NoError(t, err)
	}
	return err == nil
}
