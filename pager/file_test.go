package pager

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A disk is a handle in memory. With a block it refuses, as direct I/O does, what is not aligned to it.
type disk struct {
	data    []byte
	block   int64
	fault   func(call, n int) (int, error) // what a good call that would return n does instead; nil: nothing
	calls   int
	most    int      // bytes that one call asked for
	dropped []extent // ranges
	closed  bool
}

type extent struct{ off, n int64 }

func (d *disk) pread(p []byte, off int64) (int, error) {
	if d.block > 0 && (off%d.block != 0 || int64(len(p))%d.block != 0 || !aligned(p, d.block)) {
		return 0, syscall.EINVAL
	}
	n := 0
	if off < int64(len(d.data)) {
		n = min(len(p), len(d.data)-int(off))
	}
	d.most = max(d.most, len(p))
	d.calls++
	if d.fault != nil {
		var err error
		if n, err = d.fault(d.calls, n); err != nil {
			return 0, err
		}
	}
	copy(p[:n], d.data[min(off, int64(len(d.data))):])
	return n, nil
}

func (d *disk) drop(off int64, n int) { d.dropped = append(d.dropped, extent{off, int64(n)}) }
func (d *disk) Close() error          { d.closed = true; return nil }

func TestFileFaults(t *testing.T) {
	data := randomBytes(200_000) // an odd tail at every block
	short := func(by int) func(int, int) (int, error) {
		return func(_, n int) (int, error) { return max(min(n, 1), n-by), nil }
	}
	at := func(call int, err error) func(int, int) (int, error) {
		return func(c, n int) (int, error) {
			if c == call {
				return 0, err
			}
			return n, nil
		}
	}
	everySecond := func(c, n int) (int, error) {
		if c%2 == 1 {
			return 0, syscall.EINTR
		}
		return n, nil
	}
	tests := []struct {
		name    string
		block   int64
		direct  func(call, n int) (int, error)
		plain   func(call, n int) (int, error)
		refused error // at open
		align   int64 // after the reads
		note    string
		err     error // of the reads
		cached  int64 // bytes of aligned reads that may go through the page cache
	}{
		{name: "512", block: 512, align: 512, cached: 3 * 512},
		{name: "4096", block: 4096, align: 4096, cached: 3 * 4096},
		{name: "64K", block: 65536, align: 65536, cached: 3 * 65536},
		{name: "refused at open", refused: syscall.EINVAL, align: 1, note: "no direct I/O (invalid argument)"},
		{name: "no alignment is right", block: 1 << 20, align: 1, note: "no direct I/O (invalid argument)"},
		{name: "refused at read", block: 512, direct: at(2, syscall.EINVAL), align: 1, note: "no direct I/O (invalid argument)"},
		{name: "EIO at the probe", block: 512, direct: at(1, syscall.EIO), align: 1, note: "no direct I/O (input/output error)"},
		{name: "EIO", block: 512, direct: at(2, syscall.EIO), align: 512, err: syscall.EIO},
		{name: "EIO in the page cache", refused: syscall.EPERM, plain: at(1, syscall.EIO), align: 1, note: "not permitted", err: syscall.EIO},
		{name: "short by a block", block: 512, direct: short(512), align: 512, cached: 6 * 512},
		{name: "short by an odd number", block: 4096, direct: short(4097), align: 4096, cached: 11 * 4096},
		{name: "a block and a byte", block: 4096, direct: func(_, n int) (int, error) { return min(n, 4097), nil }, align: 4096, cached: 3 * 4096},
		{name: "short to a byte", block: 512, direct: short(1 << 20), align: 512, cached: 1 << 20},
		{name: "short in the page cache", refused: syscall.EINVAL, plain: short(77777), align: 1, note: "invalid argument"},
		{name: "interrupted", block: 512, direct: everySecond, plain: everySecond, align: 512, cached: 3 * 512},
		{name: "interrupted in the page cache", refused: syscall.EINVAL, plain: everySecond, align: 1, note: "invalid argument"},
		{name: "ends early", refused: syscall.EINVAL, plain: func(_, n int) (int, error) { return 0, nil }, align: 1, note: "invalid", err: ErrTruncated},
	}
	mem, free, err := Pages(int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plain, direct := &disk{data: data, fault: tt.plain}, &disk{data: data, block: tt.block, fault: tt.direct}
			f := newFile("experts.bin", int64(len(data)), plain, direct, tt.refused)
			for _, r := range []extent{{0, 131072}, {65536, 65536}, {0, 200_000}, {131072, 68928}, {100, 1000}, {199_999, 1}, {0, 0}} {
				p := mem[:r.n]
				clear(p)
				err := f.ReadAt(context.Background(), p, r.off)
				if tt.err != nil {
					if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), "experts.bin: 131072 bytes at offset 0: ") {
						t.Fatalf("error %v, want %v", err, tt.err)
					}
					break
				}
				if err != nil || !bytes.Equal(p, data[r.off:r.off+r.n]) {
					t.Fatalf("%+v: %v, or other bytes", r, err)
				}
			}
			if tt.note == "" && tt.err == nil {
				p := mem[1:65537] // an address that is not aligned
				if err := f.ReadAt(context.Background(), p, 0); err != nil || !bytes.Equal(p, data[:65536]) {
					t.Fatalf("%v, or other bytes", err)
				}
				if n := cached(plain); n > tt.cached+1000+65536 {
					t.Errorf("%d bytes went through the page cache, tails have %d", n, tt.cached)
				}
			}
			if f.Align() != tt.align || !strings.Contains(f.Note(), tt.note) || (tt.note == "") != (f.Note() == "") {
				t.Errorf("align %d, note %q, want %d, %q", f.Align(), f.Note(), tt.align, tt.note)
			}
			if tt.err == nil && tt.align == 1 && !covers(plain.dropped, int64(len(data))) {
				t.Errorf("the page cache keeps more than %v", plain.dropped)
			}
			if err := f.Close(); err != nil || !plain.closed || !direct.closed {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func cached(d *disk) int64 {
	var n int64
	for _, r := range d.dropped {
		n += r.n
	}
	return n
}

func covers(ranges []extent, size int64) bool {
	seen := make([]bool, size)
	for _, r := range ranges {
		for i := range r.n {
			seen[r.off+i] = true
		}
	}
	return !slices.Contains(seen, false)
}

// TestFileWindow: a large buffered read does not fill the page cache.
func TestFileWindow(t *testing.T) {
	data := randomBytes(3*window + 5)
	plain := &disk{data: data}
	f := newFile("f", int64(len(data)), plain, nil, syscall.EINVAL)
	p := make([]byte, len(data))
	if err := f.ReadAt(context.Background(), p, 0); err != nil || !bytes.Equal(p, data) {
		t.Fatalf("%v, or other bytes", err)
	}
	if plain.most != window || len(plain.dropped) != 4 {
		t.Errorf("read %d bytes at once, dropped %v", plain.most, plain.dropped)
	}
}

func TestFileRanges(t *testing.T) {
	f := newFile("f", 100, &disk{data: make([]byte, 100)}, nil, syscall.EINVAL)
	for _, r := range []extent{{-1, 1}, {100, 1}, {99, 2}, {1 << 62, 1}} {
		if err := f.ReadAt(context.Background(), make([]byte, r.n), r.off); !errors.Is(err, ErrTruncated) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	why := errors.New("client is gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if err := f.ReadAt(ctx, make([]byte, 1), 0); err != why {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "experts.bin")
	data := randomBytes(1<<20 + 777)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("alignment %d, note %q", f.Align(), f.Note())
	if f.Size() != int64(len(data)) || f.Name() != path || f.Align() < 1 || f.Align() > pageAlign {
		t.Errorf("%d bytes, name %q, alignment %d", f.Size(), f.Name(), f.Align())
	}
	var readers sync.WaitGroup
	for seed := range uint64(4) {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 0))
			mem, free, err := Pages(256 << 10)
			if err != nil {
				t.Error(err)
				return
			}
			defer free()
			for i := range 40 {
				off := rng.Int64N(int64(len(data)))
				p := mem[:1+rng.Int64N(min(int64(len(mem)), int64(len(data))-off))]
				if i%2 == 0 {
					off &^= pageAlign - 1
				}
				if err := f.ReadAt(context.Background(), p, off); err != nil || !bytes.Equal(p, data[off:off+int64(len(p))]) {
					t.Errorf("%d bytes at %d: %v, or other bytes", len(p), off, err)
				}
			}
		})
	}
	readers.Wait()
	if runtime.GOOS != "windows" { // which keeps an open file as it is
		if err := os.Truncate(path, 4096); err != nil {
			t.Fatal(err)
		}
		if err := f.ReadAt(context.Background(), make([]byte, 8192), 0); !errors.Is(err, ErrTruncated) {
			t.Errorf("after the file was cut: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.ReadAt(context.Background(), make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFile(dir); err == nil || !strings.Contains(err.Error(), dir+": not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := OpenFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(empty)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.ReadAt(context.Background(), make([]byte, 1), 0); !errors.Is(err, ErrTruncated) {
		t.Errorf("an empty file: %v", err)
	}
}

func TestPages(t *testing.T) {
	for _, n := range []int64{1, 4096, 65537, 2 << 20, 5<<20 + 1} {
		p, free, err := Pages(n)
		if err != nil {
			t.Fatal(err)
		}
		align := int64(pageAlign)
		if n >= hugePage {
			align = hugePage
		}
		if int64(len(p)) != n || int64(cap(p)) != n || !aligned(p, align) {
			t.Errorf("%d bytes: %d at %#x, want a multiple of %d", n, len(p), address(p), align)
		}
		p[0], p[n-1] = 1, 1
		if err := free(); err != nil {
			t.Errorf("%d bytes: free: %v", n, err)
		}
	}
	for _, n := range []int64{0, -1, 1<<63 - 1, 1 << 60} {
		if _, _, err := Pages(n); err == nil {
			t.Errorf("%d bytes: no error", n)
		}
	}
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(p)
	return p
}
