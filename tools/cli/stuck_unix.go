//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// stuck reports whether a file is another user's in a sticky folder, where only its owner
// and the folder's may replace it.
func stuck(file, folder fs.FileInfo) bool {
	f, known := file.Sys().(*syscall.Stat_t)
	d, both := folder.Sys().(*syscall.Stat_t)
	me := os.Geteuid()
	return known && both && folder.Mode()&fs.ModeSticky != 0 && me != 0 && int(f.Uid) != me && int(d.Uid) != me
}
