package qnn

import (
	"fmt"
	"reflect"

	"estream/lower"
	"estream/lower/qnn/native"
	"estream/pager"
)

// A mem is outside Go's heap: pages, which the library reads and writes by their
// address, or on a device a region, which HTP maps. It is freed by whoever allocated it.
type mem struct {
	device *Device
	bytes  []byte
	free   func() error
	region *native.Region // nil: pages
	skip   int64          // where bytes begin in region
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
	if m.region != nil {
		m.device.mu.Lock()
		defer m.device.mu.Unlock()
		if err := m.device.forget(func(s spot) bool { return s.mem == m }); err != nil {
			return err
		}
	}
	return free()
}

// Alloc implements static.Device: zeroed pages, or a region.
func (d *Device) Alloc(bytes, align int64) (lower.Mem, error) {
	const maxBytes, maxAlign = 1 << 40, 64 << 10
	if bytes < 0 || bytes > maxBytes || align < 1 || align > maxAlign || align&(align-1) != 0 {
		return nil, fmt.Errorf("%s: cannot allocate %d bytes at a multiple of %d: the most is %d at %d", d.Name(), bytes, align, int64(maxBytes), maxAlign)
	}
	if share := d.regions(); share != nil && bytes > 0 {
		r, err := share(bytes + align)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name(), err)
		}
		skip := int64(-reflect.ValueOf(r.Bytes).Pointer() & uintptr(align-1))
		return &mem{d, r.Bytes[skip:][:bytes:bytes], r.Free, r, skip}, nil
	}
	p, free, err := pager.Pages(max(bytes, 1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	return &mem{device: d, bytes: p[:bytes:bytes], free: free}, nil
}
