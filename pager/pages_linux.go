package pager

import "golang.org/x/sys/unix"

// inCore asks which pages of n bytes at an address are in memory: a byte for each at seen.
func inCore(at, n, seen int64) bool {
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(at), uintptr(n), uintptr(seen))
	return e == 0
}
