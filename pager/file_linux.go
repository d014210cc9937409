package pager

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A descriptor reads by pread(2) itself: os.File would go on after a short read at an offset that direct I/O refuses, and
// its RawConn allocates. The file is open while users are left: its number is nobody else's while a call has it, and
// Close does not wait for a disk that hangs.
type descriptor struct {
	f  *os.File
	fd int // f's

	mu     sync.Mutex
	users  int // calls in flight, and one until Close
	closed bool
}

func openPlain(path string) (handle, error) {
	d, err := openDescriptor(path, 0)
	if err != nil {
		return nil, err
	}
	// No read-ahead: it would fill the page cache past the ranges that drop is told of.
	_ = unix.Fadvise(d.fd, 0, 0, unix.FADV_RANDOM)
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
	return &descriptor{f: f, fd: int(f.Fd()), users: 1}, nil
}

func (d *descriptor) pread(p []byte, off int64) (int, error) {
	if !d.use() {
		return 0, os.ErrClosed
	}
	defer d.leave()
	n, err := unix.Pread(d.fd, p, off)
	return max(n, 0), err
}

func (d *descriptor) drop(off int64, n int) {
	if !d.use() {
		return
	}
	defer d.leave()
	page := int64(os.Getpagesize())
	from := off &^ (page - 1)
	to := (off + int64(n) + page - 1) &^ (page - 1)
	_ = unix.Fadvise(d.fd, from, to-from, unix.FADV_DONTNEED)
}

// use makes the caller a user, who has to leave; false after Close.
func (d *descriptor) use() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.users++
	}
	return !d.closed
}

// leave closes the file behind the last user.
func (d *descriptor) leave() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	return d.f.Close()
}

func (d *descriptor) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return os.ErrClosed
	}
	return d.leave()
}
