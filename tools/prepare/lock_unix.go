//go:build linux || darwin

package prepare

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock takes the lock on a folder, which falls when it is closed or the process ends.
// While somebody else holds it, it waits, after it has told waits, unless that is nil.
// File systems without locks go without: it reports false.
func lock(ctx context.Context, folder *os.File, waits func(string)) (bool, error) {
	const again = 5 * time.Millisecond // it is held for as long as a file is written
	for {
		switch err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil, unix.ENOTSUP, unix.ENOSYS, unix.ENOLCK, unix.EBADF: // NFS wants a file that is open for writing
			return err == nil, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			if waits != nil {
				waits(folder.Name())
				waits = nil
			}
		default:
			return false, &os.PathError{Op: "flock", Path: folder.Name(), Err: err}
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(again):
		}
	}
}
