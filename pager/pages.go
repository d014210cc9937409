package pager

import (
	"fmt"
	"unsafe"
)

const (
	hugePage  = 2 << 20
	pageAlign = 64 << 10 // the largest page, and the largest block of direct I/O
)

// Pages returns n zeroed bytes that start at a multiple of 64 KiB; from 2 MiB on they start at a multiple of that and
// ask for huge pages. They lie outside Go's heap wherever there is mmap. The caller frees them by calling the function
// it gets, when nothing points into them any more.
func Pages(n int64) ([]byte, func() error, error) {
	align := int64(pageAlign)
	if n >= hugePage {
		align = hugePage
	}
	total := int(n + align)
	if n <= 0 || total <= 0 || int64(total)-align != n {
		return nil, nil, fmt.Errorf("pages: cannot allocate %d bytes", n)
	}
	mem, free, err := allocate(total)
	if err != nil {
		return nil, nil, fmt.Errorf("pages: %d bytes: %w", n, err)
	}
	skip := -address(mem) & (align - 1)
	p := mem[skip : skip+n : skip+n]
	if n >= hugePage {
		adviseHuge(p)
	}
	return p, free, nil
}

func address(p []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(p))))
}

func aligned(p []byte, align int64) bool {
	return address(p)&(align-1) == 0
}
