package pager

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A descriptor reads by pread(2) itself: os.File would go on after a short read at an offset that direct I/O refuses.
type descriptor struct {
	f  *os.File
	rc syscall.RawConn
}

func openPlain(path string) (handle, error) {
	d, err := openDescriptor(path, 0)
	if err != nil {
		return nil, err
	}
	// No read-ahead: it would fill the page cache past the ranges that drop is told of.
	_ = d.rc.Control(func(fd uintptr) { _ = unix.Fadvise(int(fd), 0, 0, unix.FADV_RANDOM) })
	return d, nil
}

func openDirect(path string) (handle, error) {
	d, err := openDescriptor(path, unix.O_DIRECT)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func openDescriptor(path string, flag int) (*descriptor, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|flag, 0)
	if err != nil {
		return nil, err
	}
	rc, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &descriptor{f, rc}, nil
}

// pread keeps the descriptor open while it runs (Control does), and lets others run beside it (Read would not).
func (d *descriptor) pread(p []byte, off int64) (n int, err error) {
	closed := d.rc.Control(func(fd uintptr) { n, err = unix.Pread(int(fd), p, off) })
	if closed != nil {
		return 0, fmt.Errorf("%w: %w", closed, os.ErrClosed)
	}
	return max(n, 0), err
}

func (d *descriptor) drop(off int64, n int) {
	page := int64(os.Getpagesize())
	from := off &^ (page - 1)
	to := (off + int64(n) + page - 1) &^ (page - 1)
	_ = d.rc.Control(func(fd uintptr) { _ = unix.Fadvise(int(fd), from, to-from, unix.FADV_DONTNEED) })
}

func (d *descriptor) Close() error { return d.f.Close() }
