package qnn

import (
	"fmt"

	"estream/lower"
	"estream/pager"
)

// A mem is pages outside Go's heap, which the library reads and writes by their
// address. It is freed by whoever allocated it.
type mem struct {
	device *Device
	bytes  []byte
	free   func() error
}

// Bytes implements lower.Mem.
func (m *mem) Bytes() []byte { return m.bytes }

// Free implements lower.Mem.
func (m *mem) Free() error {
	if m.free == nil {
		return fmt.Errorf("%s: memory is freed twice", m.device.Name())
	}
	free := m.free
	m.bytes, m.free = nil, nil
	return free()
}

// Alloc implements static.Device: zeroed pages.
func (d *Device) Alloc(bytes, align int64) (lower.Mem, error) {
	const maxBytes, maxAlign = 1 << 40, 64 << 10
	if bytes < 0 || bytes > maxBytes || align < 1 || align > maxAlign || align&(align-1) != 0 {
		return nil, fmt.Errorf("%s: cannot allocate %d bytes at a multiple of %d: the most is %d at %d", d.Name(), bytes, align, int64(maxBytes), maxAlign)
	}
	p, free, err := pager.Pages(max(bytes, 1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	return &mem{d, p[:bytes:bytes], free}, nil
}
