package native

import (
	"errors"
	"fmt"
	"unsafe"
)

// GraphOptions are how a graph is made.
type GraphOptions struct {
	// PreciseSigmoid makes HTP compute sigmoids to f16's precision instead of 8e-4.
	PreciseSigmoid bool

	DLC string // path of the file that libQnnIr writes when it finalizes the graph; empty for other libraries
}

// A builder makes one graph of a context.
type builder struct {
	*Context
	graph   string
	handle  uintptr
	tensors map[string]cTensor // with the numbers that the library gave them
	hold    hold               // what C is given until the graph is finalized, which copies it
}

// Build makes a graph of d and finalizes it. A context in which it failed is good
// for Close only.
func (c *Context) Build(d *Desc, o GraphOptions) (*Graph, error) {
	if err := errors.Join(c.open(), c.backend.Validate(d)); err != nil {
		return nil, err
	}
	if c.graphs[d.Name] != nil {
		return nil, fmt.Errorf("graph %s: the context has one of that name", d.Name)
	}
	b := &builder{Context: c, graph: d.Name, tensors: map[string]cTensor{}}
	defer b.hold.Unpin()
	err := b.create(o)
	for i := 0; i < len(d.Tensors) && err == nil; i++ {
		b.tensors[d.Tensors[i].Name], err = b.tensor(&d.Tensors[i])
	}
	for i := 0; i < len(d.Nodes) && err == nil; i++ {
		err = b.node(&d.Nodes[i])
	}
	if err == nil {
		err = b.call(graphFinalize, "graph "+b.graph, b.handle, 0, 0)
	}
	if err != nil {
		return nil, err
	}
	return c.add(b.handle, Signature{d.Name, b.ports(d.Inputs()), b.ports(d.Outputs())}), nil
}

//go:uintptrescapes
func (b *builder) call(f function, of string, args ...uintptr) error {
	b.backend.at(f.String(), of)
	return b.backend.call(f, of, args...)
}

func (b *builder) create(o GraphOptions) error {
	var custom []unsafe.Pointer
	if o.DLC != "" {
		custom = append(custom, unsafe.Pointer(pin(&b.hold, []cIRGraph{{option: 1, format: 1, path: b.hold.str(o.DLC)}})))
	}
	if o.PreciseSigmoid {
		custom = append(custom, unsafe.Pointer(pin(&b.hold, []cHTPGraph{{option: 16, value: 1}})))
	}
	return b.call(graphCreate, "graph "+b.graph, b.Context.handle, uintptr(unsafe.Pointer(b.hold.str(b.graph))),
		configs(&b.hold, custom...), uintptr(unsafe.Pointer(&b.handle)))
}

// tensor makes t known to the library, which gives it a number.
func (b *builder) tensor(t *Tensor) (cTensor, error) {
	made := []cTensor{b.hold.tensor(t, 0)}
	err := b.call(tensorCreateGraphTensor, fmt.Sprintf("graph %s: tensor %s", b.graph, t.Name), b.handle, uintptr(unsafe.Pointer(pin(&b.hold, made))))
	return made[0], err
}

func (b *builder) node(n *Node) error {
	params := make([]cParam, len(n.Params))
	for i := range n.Params {
		p := &n.Params[i]
		params[i] = b.hold.param(n, p)
		if p.Dims != nil {
			var err error
			if params[i].tensor, err = b.tensor(p.tensor(n)); err != nil {
				return err
			}
		}
	}
	op := b.hold.op(n, pick(b.tensors, n.In), pick(b.tensors, n.Out), params)
	return b.backend.callOp(graphAddNode, b.backend.addNode, b.handle, b.graph, n, op)
}

func (b *builder) ports(tensors []Tensor) []Port {
	var ports []Port
	for _, t := range tensors {
		ports = append(ports, Port{t, b.tensors[t.Name].id})
	}
	return ports
}

// callOp makes a call with an operator, which the caller holds.
func (b *Backend) callOp(f function, call func(uintptr, cOp) uint64, handle uintptr, graph string, n *Node, op cOp) error {
	of := fmt.Sprintf("graph %s: node %s (%s)", graph, n.Name, n.Op)
	b.at(f.String(), of)
	b.turns.begin()
	defer b.turns.end()
	return b.failure(f, of, call(handle, op))
}

func pick(tensors map[string]cTensor, names []string) []cTensor {
	picked := make([]cTensor, len(names))
	for i, name := range names {
		picked[i] = tensors[name]
	}
	return picked
}
