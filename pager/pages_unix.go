//go:build unix

package pager

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func allocate(n int) ([]byte, func() error, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, err
	}
	return mem, func() error { return unix.Munmap(mem) }, nil
}

// adviseHuge asks Linux for huge pages. A kernel without them refuses, which costs speed only.
func adviseHuge(p []byte) {
	const madvHugepage = 14 // from linux/mman.h
	if runtime.GOOS == "linux" || runtime.GOOS == "android" {
		_ = unix.Madvise(p, madvHugepage)
	}
}
