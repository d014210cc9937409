package host

import (
	"fmt"
	"reflect"

	"estream/lower"
	"estream/pager"
)

// A mem is memory outside Go's heap.
type mem struct {
	bytes []byte
	free  func() error
}

func (m *mem) Bytes() []byte { return m.bytes }

func (m *mem) Free() error {
	free := m.free
	m.bytes, m.free = nil, nil
	if free == nil {
		return nil
	}
	return free()
}

// pageAlign is what any pages start at a multiple of.
const pageAlign = 64 << 10

// Alloc implements lower.Compiled: zeroed pages, huge ones from 2 MiB on. Of a
// larger alignment than pages have, what lies before it is never touched.
func (c *compiled) Alloc(bytes, align int64) (lower.Mem, error) { return alloc(bytes, align) }

func alloc(bytes, align int64) (*mem, error) {
	if bytes < 0 || align < 1 || align&(align-1) != 0 {
		return nil, fmt.Errorf("host: cannot allocate %d bytes at a multiple of %d", bytes, align)
	}
	p, free, err := pager.Pages(max(bytes, 1) + max(0, align-pageAlign))
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	skip := -int64(reflect.ValueOf(p).Pointer()) & (align - 1)
	return &mem{bytes: p[skip : skip+bytes : skip+bytes], free: free}, nil
}
