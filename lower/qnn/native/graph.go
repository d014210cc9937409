package native

import (
	"errors"
	"fmt"
	"unsafe"
)

// A Graph is finalized, and runs by its Calls. Its Context owns it. It is safe
// for concurrent use.
type Graph struct {
	context   *Context
	handle    uintptr
	signature Signature
}

// A Signature says how a graph is executed: which tensors in which order. It is
// all that Retrieve needs to know of a graph in a context binary.
type Signature struct {
	Graph   string
	In, Out []Port
}

// A Port is an input or output, with the number that the library gave it.
type Port struct {
	Tensor
	ID uint32
}

// Retrieve returns a graph of a context that FromBinary made. Metadata gives the
// signature, or a Graph did when the binary was made.
func (c *Context) Retrieve(s Signature) (*Graph, error) {
	if err := errors.Join(c.open(), s.check()); err != nil {
		return nil, err
	}
	if c.graphs[s.Graph] != nil {
		return nil, fmt.Errorf("graph %s: the context has one of that name", s.Graph)
	}
	var h hold
	defer h.Unpin()
	handle := new(uintptr)
	if err := c.backend.call(graphRetrieve, "graph "+s.Graph, c.handle, uintptr(unsafe.Pointer(h.str(s.Graph))), uintptr(unsafe.Pointer(handle))); err != nil {
		return nil, err
	}
	return c.add(*handle, s), nil
}

func (c *Context) add(handle uintptr, s Signature) *Graph {
	g := &Graph{c, handle, s}
	c.graphs[s.Graph] = g
	return g
}

// Signature returns the graph's inputs and outputs.
func (g *Graph) Signature() Signature { return g.signature }
