package native

import (
	"errors"
	"fmt"
	"unsafe"
)

// A Shared names bytes of a Region. It stays the caller's, and must outlive its
// Memory.
type Shared struct {
	FD     int   // of the buffer
	Bytes  int64 // of the whole buffer
	Offset int64 // of the tensor in it
}

// A Memory is a tensor's place in a Shared buffer, known to a context.
type Memory struct {
	context *Context
	handle  unsafe.Pointer
	bytes   int

	// Of a library that knows no such memory, the place is mapped here instead.
	mapped []byte
	unmap  func() error
}

// Register makes a place for tensors like t known to the device, so that
// executions pass no bytes. Each place of a buffer is registered by itself; the
// device maps the buffer once. Where a library knows no such memory, as on a host,
// executions pass the bytes that the file has there.
func (c *Context) Register(t *Tensor, s Shared) (*Memory, error) {
	if err := errors.Join(c.open(), checkExtents(t.Type, t.Dims)); err != nil {
		return nil, err
	}
	if s.FD < 0 || s.Offset < 0 || s.Offset > s.Bytes-int64(t.Bytes()) {
		return nil, fmt.Errorf("tensor %s: %d bytes at %d of a shared buffer of %d bytes, file %d", t.Name, t.Bytes(), s.Offset, s.Bytes, s.FD)
	}
	m := &Memory{context: c, bytes: t.Bytes()}
	err := c.register(t, s, m)
	if c.backend.maps.Load() {
		m.mapped, m.unmap, err = mapFile(s.FD, s.Offset, m.bytes)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// register asks the library, unless it has said that it knows no such memory.
func (c *Context) register(t *Tensor, s Shared, m *Memory) error {
	if c.backend.maps.Load() {
		return nil
	}
	var h hold
	defer h.Unpin()
	shape := h.tensor(t, 0)
	htp := pin(&h, []cHTPMemory{{kind: 1, size: uint64(s.Bytes), fd: int32(s.FD), offset: uint64(s.Offset)}})
	d := pin(&h, []cMemory{{rank: shape.rank, dims: shape.dims, dtype: shape.dtype, kind: 2, custom: unsafe.Pointer(htp)}})
	err := c.backend.call(memRegister, "tensor "+t.Name, c.handle, uintptr(unsafe.Pointer(d)), 1, uintptr(unsafe.Pointer(&m.handle)))
	var refused *Error
	if errors.As(err, &refused) && refused.Code == notSupported {
		c.backend.maps.Store(true)
	}
	return err
}

func (m *Memory) known() bool { return m.handle != nil || m.mapped != nil }

// place returns what a tensor that stands in m is given as.
func (m *Memory) place(h *hold) (kind uint32, data unsafe.Pointer, size uint32) {
	if m.mapped != nil {
		return raw, unsafe.Pointer(pin(h, m.mapped)), uint32(len(m.mapped))
	}
	return registered, m.handle, 0
}

// Close makes the place unknown again. No call may be executing with it, and its
// context must be open.
func (m *Memory) Close() error {
	if !m.known() {
		return nil
	}
	if err := m.context.open(); err != nil {
		return err
	}
	if m.mapped != nil {
		unmap := m.unmap
		m.mapped, m.unmap = nil, nil
		return unmap()
	}
	err := m.context.backend.call(memDeRegister, m.context.backend.path, uintptr(unsafe.Pointer(&m.handle)), 1)
	m.handle = nil
	return err
}

// Use makes the input or output of that name stand in m at each execution from
// now on, where its buffer is nil; a nil m ends that.
func (c *Call) Use(tensor string, m *Memory) error {
	for _, s := range []*side{&c.in, &c.out} {
		for i := range s.ports {
			if s.ports[i].Name != tensor {
				continue
			}
			if want := s.ports[i].Bytes(); m != nil && (m.context != c.graph.context || m.bytes != want) {
				return fmt.Errorf("graph %s: %s %s: want %d bytes that its own context has registered", c.graph.signature.Graph, s.what, tensor, want)
			}
			s.memory[i] = m
			return nil
		}
	}
	return fmt.Errorf("graph %s: it has no input or output %s", c.graph.signature.Graph, tensor)
}
