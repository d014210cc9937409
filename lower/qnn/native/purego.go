//go:build linux && (amd64 || arm64) && (cgo || !android)

package native

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// A symbol is a C function.
type symbol uintptr

// Available returns why this build cannot call the libraries, nil if it can.
func Available() error { return nil }

// load maps the library at path, which stays mapped until the process ends: the
// vendor's libraries keep threads.
func load(path, name string) (symbol, error) {
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, fmt.Errorf("load %s: %w", path, err)
	}
	s, err := purego.Dlsym(lib, name)
	if err != nil {
		return 0, fmt.Errorf("%s is no library of QNN: %w", path, err)
	}
	return symbol(s), nil
}

// invoke calls s. Arguments that are converted pointers stay where they are until
// it returns.
//
//go:uintptrescapes
func invoke(s symbol, args ...uintptr) uint64 {
	r, _, _ := purego.SyscallN(uintptr(s), args...)
	return uint64(r)
}

// withOp returns the C function f(handle, op), op by value.
func withOp(s symbol) func(handle uintptr, op cOp) uint64 {
	var f func(uintptr, cOp) uint64
	purego.RegisterFunc(&f, uintptr(s))
	return f
}

// unbuffer makes C print at once, so that a crash loses nothing.
func unbuffer() error {
	setvbuf, err := purego.Dlsym(purego.RTLD_DEFAULT, "setvbuf")
	if err != nil {
		return err
	}
	stdout, err := purego.Dlsym(purego.RTLD_DEFAULT, "stdout")
	if err != nil {
		return err
	}
	const none = 2 // _IONBF
	file := **(**uintptr)(unsafe.Pointer(&stdout))
	purego.SyscallN(setvbuf, file, 0, none, 0)
	return nil
}

// mapFile maps n bytes of a file from off on, which whoever writes the file's other
// maps changes.
func mapFile(fd int, off int64, n int) ([]byte, func() error, error) {
	skip := off % int64(os.Getpagesize())
	b, err := unix.Mmap(fd, off-skip, n+int(skip), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %d bytes at %d of a shared buffer, file %d: %w", n, off, fd, err)
	}
	return b[skip:], func() error { return unix.Munmap(b) }, nil
}
