package host

import (
	"fmt"

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

const (
	hugePage = 2 << 20
	maxAlign = 64 << 10 // of less than a huge page
)

// Alloc implements lower.Compiled: zeroed pages, huge ones at a multiple of
// 2 MiB from 2 MiB on.
func (c *compiled) Alloc(bytes, align int64) (lower.Mem, error) { return alloc(bytes, align) }

func alloc(bytes, align int64) (*mem, error) {
	if bytes < 0 || align < 1 || align&(align-1) != 0 {
		return nil, fmt.Errorf("host: cannot allocate %d bytes at a multiple of %d", bytes, align)
	}
	if align > hugePage || align > maxAlign && bytes < hugePage {
		return nil, fmt.Errorf("host: cannot allocate %d bytes at a multiple of %d: the most is %d, and %d from %d bytes on", bytes, align, maxAlign, hugePage, hugePage)
	}
	p, free, err := pager.Pages(max(bytes, 1))
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return &mem{bytes: p[:bytes:bytes], free: free}, nil
}
