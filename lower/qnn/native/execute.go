package native

import (
	"fmt"
	"unsafe"
)

// A Call executes one graph, with buffers that may change each time. It is for
// one goroutine; several Calls, of one graph or of several, may run at once.
type Call struct {
	graph   *Graph
	in, out side
	args    []uintptr // of graphExecute
	hold    *hold     // the tensors of both sides
	buffers *hold     // those of one execution
}

// A side is the inputs of a call, or its outputs.
type side struct {
	what    string
	ports   []Port
	tensors []cTensor // what the library takes
	memory  []*Memory // where Use has put a tensor, nil: in a buffer
}

// NewCall returns a Call of g, whose context must be open.
func (g *Graph) NewCall() (*Call, error) {
	if err := g.context.open(); err != nil {
		return nil, fmt.Errorf("graph %s: %w", g.signature.Graph, err)
	}
	c := &Call{graph: g}
	c.hold, c.buffers = holdOf(c), holdOf(c)
	c.in, c.out = c.side("input", g.signature.In), c.side("output", g.signature.Out)
	c.args = []uintptr{
		g.handle, uintptr(unsafe.Pointer(pin(c.hold, c.in.tensors))), uintptr(len(c.in.tensors)),
		uintptr(unsafe.Pointer(pin(c.hold, c.out.tensors))), uintptr(len(c.out.tensors)), 0, 0,
	}
	return c, nil
}

func (c *Call) side(what string, ports []Port) side {
	s := side{what: what, ports: ports, memory: make([]*Memory, len(ports))}
	for _, p := range ports {
		s.tensors = append(s.tensors, c.hold.tensor(&p.Tensor, p.ID))
	}
	return s
}

// Execute runs the graph on in and writes out, in the signature's order: a buffer
// a tensor, of exactly its bytes. Buffers are of the Go heap or not, and are the
// caller's again afterwards.
func (c *Call) Execute(in, out [][]byte) error {
	if c.args == nil {
		return fmt.Errorf("graph %s: the call is closed", c.graph.signature.Graph)
	}
	if err := c.graph.context.open(); err != nil {
		return err
	}
	defer c.release()
	err := c.in.bind(in, c.buffers)
	if err == nil {
		err = c.out.bind(out, c.buffers)
	}
	if err != nil {
		return fmt.Errorf("graph %s: %w", c.graph.signature.Graph, err)
	}
	l := c.graph.context.backend.Library
	l.turns.begin()
	defer l.turns.end()
	if code := invoke(symbol(l.table.fn[graphExecute]), c.args...); code != 0 {
		return l.failure(graphExecute, "graph "+c.graph.signature.Graph, code)
	}
	return nil
}

// bind gives the tensors their buffers.
func (s *side) bind(buffers [][]byte, h *hold) error {
	if len(buffers) != len(s.ports) {
		return fmt.Errorf("%d %ss, want %d", len(buffers), s.what, len(s.ports))
	}
	for i, b := range buffers {
		t, p, want := &s.tensors[i], &s.ports[i], s.ports[i].Bytes()
		if m := s.memory[i]; m != nil {
			if !m.known() || b != nil {
				return fmt.Errorf("%s %s: it stands in memory that is registered, and has no buffer", s.what, p.Name)
			}
			t.memory, t.data, t.size = m.place(h)
			continue
		}
		if len(b) != want {
			return fmt.Errorf("%s %s has %d bytes, want %d for %s%v", s.what, p.Name, len(b), want, p.Type, p.Dims)
		}
		t.memory, t.data, t.size = raw, unsafe.Pointer(pin(h, b)), uint32(want)
	}
	return nil
}

// release forgets the buffers: their memory may be unmapped before the next
// execution.
func (c *Call) release() {
	for i := range c.in.tensors {
		c.in.tensors[i].data = nil
	}
	for i := range c.out.tensors {
		c.out.tensors[i].data = nil
	}
	c.buffers.Unpin()
}

// Close frees what the call holds. The graph stays. A second Close does nothing.
func (c *Call) Close() error {
	c.args = nil
	c.hold.Unpin()
	return nil
}
