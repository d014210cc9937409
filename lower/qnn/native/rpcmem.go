package native

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// RPCMem is libcdsprpc.so, the library of a device's system that makes memory which
// the processor and the DSP share.
type RPCMem struct {
	path  string
	alloc func(bytes int64) uintptr
	free  func(address uintptr)
	file  func(address uintptr) int // that the DSP maps it by
	most  int64                     // bytes
}

// A Region is memory that a device maps by its file. Its owner calls Free, once,
// when no Memory of it is left.
type Region struct {
	Bytes []byte
	FD    int
	Free  func() error
}

// The kind of memory that RPCMem is asked for: pages of the system, cached.
const (
	rpcSystemHeap = 25
	rpcCached     = 1
)

// OpenRPCMem loads libcdsprpc.so from path.
func OpenRPCMem(path string) (*RPCMem, error) {
	found := map[string]symbol{}
	for _, name := range []string{"rpcmem_alloc", "rpcmem_free", "rpcmem_to_fd"} {
		s, err := load(path, name)
		if err != nil {
			return nil, err
		}
		found[name] = s
	}
	r := &RPCMem{path: path, most: math.MaxInt32}
	alloc := found["rpcmem_alloc"]
	if large, err := load(path, "rpcmem_alloc2"); err == nil { // of later systems, with a size of 64 bits
		alloc, r.most = large, math.MaxInt64
	}
	r.alloc = func(bytes int64) uintptr { return uintptr(invoke(alloc, rpcSystemHeap, rpcCached, uintptr(bytes))) }
	r.free = func(address uintptr) { invoke(found["rpcmem_free"], address) }
	r.file = func(address uintptr) int { return int(int32(invoke(found["rpcmem_to_fd"], address))) }
	return r, nil
}

// Alloc returns zeroed memory that starts at a page.
func (r *RPCMem) Alloc(bytes int64) (*Region, error) {
	if bytes < 1 || bytes > r.most {
		return nil, fmt.Errorf("%s: cannot allocate %d bytes: the most is %d", r.path, bytes, r.most)
	}
	at := r.alloc(bytes)
	if at == 0 {
		return nil, fmt.Errorf("%s: no %d bytes of memory that the DSP shares: give less memory, or run as a user that may open its device", r.path, bytes)
	}
	fd := r.file(at)
	if fd < 0 {
		r.free(at)
		return nil, fmt.Errorf("%s: %d bytes have no file that the DSP could map", r.path, bytes)
	}
	b := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), bytes)
	clear(b)
	free := func() error {
		if at == 0 {
			return errors.New(r.path + ": memory is freed twice")
		}
		r.free(at)
		at = 0
		return nil
	}
	return &Region{Bytes: b, FD: fd, Free: free}, nil
}
