package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pages returns n zeroed bytes outside Go's heap, in huge pages where there are
// many, that end where nothing may be read: a kernel that reads further faults.
func pages(t testing.TB, n int) []byte {
	t.Helper()
	page := unix.Getpagesize()
	whole := (n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, whole+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	require.NoError(t, unix.Mprotect(mem[whole:], unix.PROT_NONE))
	_ = unix.Madvise(mem[:whole], unix.MADV_HUGEPAGE) // not every kernel has them
	return mem[whole-n : whole : whole]
}
