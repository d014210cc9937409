package pager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
)

const (
	leastBlock = 512
	// window is the most that a buffered read leaves in the page cache before it is dropped.
	window = 4 << 20
)

// A File is a Source on a regular file, read past the page cache where the file system grants it. What it refuses, and
// what does not stand at multiples of Align, such as the tail of a file of odd length, is read through the page cache,
// whose pages are dropped after use: a model larger than memory drives nothing else out of it.
type File struct {
	name   string
	size   int64
	block  int64 // of direct reads
	direct handle
	plain  handle
	note   atomic.Pointer[string] // set: no direct reads
}

// A handle is an open file of the operating system.
type handle interface {
	// pread is pread(2): it may return less than len(p), and 0 only at the end of the file.
	pread(p []byte, off int64) (int, error)
	// drop takes the pages of a range out of the page cache, as far as the system does that.
	drop(off int64, n int)
	Close() error
}

// OpenFile opens a file for reading and finds out whether, and at what alignment, it can be read directly.
func OpenFile(path string) (*File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	plain, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	direct, err := openDirect(path)
	return newFile(path, st.Size(), plain, direct, err), nil
}

// newFile takes both handles; refused tells why there is no direct one.
func newFile(name string, size int64, plain, direct handle, refused error) *File {
	f := &File{name: name, size: size, plain: plain, direct: direct}
	if refused == nil {
		f.block, refused = probe(direct, size)
	}
	if refused != nil {
		f.fallBack(refused)
	}
	return f
}

// probe finds the least alignment that direct reads take.
func probe(h handle, size int64) (int64, error) {
	mem, free, err := Pages(2 * pageAlign)
	if err != nil {
		return 0, err
	}
	defer free()
	for block := int64(leastBlock); block <= pageAlign; block *= 2 {
		off := block
		if size < 2*block {
			off = 0
		}
		if _, err = uninterrupted(h, mem[block:2*block], off); err == nil {
			return block, nil
		}
		if !errors.Is(err, syscall.EINVAL) {
			break
		}
	}
	return 0, err
}

func (f *File) fallBack(refused error) {
	note := fmt.Sprintf("%s: no direct I/O (%v), read through the page cache", f.name, refused)
	f.note.CompareAndSwap(nil, &note)
}

// ReadAt implements Source. It reads on after short and interrupted reads, looking at ctx between them.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) error {
	if off < 0 || off > f.size-int64(len(p)) {
		return fmt.Errorf("%s: %d bytes at offset %d, file has %d: %w", f.name, len(p), off, f.size, ErrTruncated)
	}
	for len(p) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := f.readSome(p, off)
		if n == 0 && err == nil {
			err = ErrTruncated
		}
		if err != nil {
			return fmt.Errorf("%s: %d bytes at offset %d: %w", f.name, len(p), off, err)
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// readSome reads at least one byte of p, or 0 at the end of the file.
func (f *File) readSome(p []byte, off int64) (int, error) {
	if whole := f.directPart(p, off); whole > 0 {
		n, err := uninterrupted(f.direct, p[:whole], off)
		n &^= int(f.block) - 1
		switch {
		case errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EFAULT):
			f.fallBack(err)
		case err != nil || n > 0:
			return n, err
		}
		// Else less than a block came, which only a buffered read can go on from.
	}
	p = p[:min(len(p), window)]
	n, err := uninterrupted(f.plain, p, off)
	if n > 0 {
		f.plain.drop(off, n)
	}
	return n, err
}

// directPart is how many bytes of p a direct read may ask for.
func (f *File) directPart(p []byte, off int64) int {
	if f.note.Load() != nil || off%f.block != 0 || !aligned(p, f.block) {
		return 0
	}
	return len(p) &^ (int(f.block) - 1)
}

func uninterrupted(h handle, p []byte, off int64) (int, error) {
	for {
		n, err := h.pread(p, off)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// Size implements Source: the length when the file was opened.
func (f *File) Size() int64 { return f.size }

// Align implements Source: 1 where the file is read through the page cache.
func (f *File) Align() int64 {
	if f.note.Load() != nil {
		return 1
	}
	return f.block
}

// Name implements Source.
func (f *File) Name() string { return f.name }

// Note tells why the file is read through the page cache; empty where it is read directly.
func (f *File) Note() string {
	if note := f.note.Load(); note != nil {
		return *note
	}
	return ""
}

// Close implements Source. A read in flight keeps what it needs until it returns.
func (f *File) Close() error {
	err := f.plain.Close()
	if f.direct != nil {
		err = errors.Join(err, f.direct.Close())
	}
	return err
}
