package native

import (
	"errors"
	"fmt"
	"unsafe"
)

// A Context holds graphs of a backend; they share its memory and its binary. Its
// methods are for one goroutine at a time; its graphs may execute meanwhile.
type Context struct {
	backend *Backend
	handle  uintptr
	graphs  map[string]*Graph
}

// NewContext returns a context without graphs.
func (b *Backend) NewContext() (*Context, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	c := &Context{backend: b, graphs: map[string]*Graph{}}
	b.at(contextCreate.String(), b.path)
	if err := b.call(contextCreate, b.path, b.handle, b.device, 0, uintptr(unsafe.Pointer(&c.handle))); err != nil {
		return nil, err
	}
	b.contexts.Add(1)
	return c, nil
}

// FromBinary returns a context of graphs that Binary serialised, maybe in another
// process; Retrieve gives them. The binary is not needed afterwards.
func (b *Backend) FromBinary(binary []byte) (*Context, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if len(binary) == 0 {
		return nil, errors.New(b.path + ": a context binary of no bytes")
	}
	var h hold
	defer h.Unpin()
	c := &Context{backend: b, graphs: map[string]*Graph{}}
	b.at(contextCreateFromBinary.String(), b.path)
	err := b.call(contextCreateFromBinary, b.path, b.handle, b.device, 0,
		uintptr(unsafe.Pointer(pin(&h, binary))), uintptr(len(binary)), uintptr(unsafe.Pointer(&c.handle)), 0)
	if err != nil {
		return nil, err
	}
	b.contexts.Add(1)
	return c, nil
}

// Binary serialises the context. The CPU library cannot.
func (c *Context) Binary() ([]byte, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	b, size, written := c.backend, new(uint64), new(uint64)
	b.at(contextGetBinarySize.String(), b.path)
	if err := b.call(contextGetBinarySize, b.path, c.handle, uintptr(unsafe.Pointer(size))); err != nil {
		return nil, err
	}
	if *size == 0 || *size > 1<<32 {
		return nil, fmt.Errorf("%s: a context binary of %d bytes", b.path, *size)
	}
	var h hold
	defer h.Unpin()
	binary := make([]byte, *size)
	b.at(contextGetBinary.String(), b.path)
	if err := b.call(contextGetBinary, b.path, c.handle, uintptr(unsafe.Pointer(pin(&h, binary))), uintptr(*size), uintptr(unsafe.Pointer(written))); err != nil {
		return nil, err
	}
	return binary[:min(*written, *size)], nil
}

// Close frees the context and its graphs. None may be executing. A second Close
// does nothing.
func (c *Context) Close() error {
	if c.handle == 0 {
		return nil
	}
	err := c.backend.call(contextFree, c.backend.path, c.handle, 0)
	c.handle = 0
	c.backend.contexts.Add(-1)
	return err
}

func (c *Context) open() error {
	if c.handle == 0 {
		return errors.New(c.backend.path + ": the context is closed")
	}
	return c.backend.open()
}
