//go:build linux || darwin

package synth

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace is how many bytes may still be written to the file system of dir.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(min(float64(st.Bavail)*float64(st.Bsize), math.MaxInt64/2)), nil
}
