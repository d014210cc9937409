package pager

import (
	"fmt"
	"os"
	"runtime"
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

// Resident returns how many bytes of p, which Pages returned, are in memory: of pages that were touched. Where the system
// does not tell, it is 0.
func Resident(p []byte) int64 {
	const step = 64 << 20
	page, n := int64(os.Getpagesize()), int64(0)
	seen := make([]byte, min(step, int64(len(p))+page-1)/page+1)
	for len(p) > 0 {
		part := p[:min(step, len(p))]
		pages := (int64(len(part)) + page - 1) / page
		if !inCore(address(part), int64(len(part)), address(seen)) {
			return 0
		}
		for i, s := range seen[:pages] {
			n += int64(s&1) * min(page, int64(len(part))-int64(i)*page)
		}
		p = p[len(part):]
	}
	runtime.KeepAlive(seen)
	return n
}

func address(p []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(p))))
}

func aligned(p []byte, align int64) bool {
	return address(p)&(align-1) == 0
}
