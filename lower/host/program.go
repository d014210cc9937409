package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// A program is one graph: what its calls bind, and instructions that run in
// order. Places number the memory that operands lie in: inputs, weights,
// outputs, then slots of the workspace.
type program struct {
	c       *compiled
	graph   *ir.Graph
	inputs  []port
	weights []port
	outputs []port
	slots   []slot
	code    []*instruction
	open    []extent // of types that instructions use, to be set before they run
	group   *group   // how group calls run; nil unless the graph is an expert

	// What the Run under way has bound.
	dims    lower.Dims
	at      []lower.Buffer // of each place; types are not used
	laid    lower.Dims     // the extents that offsets are for
	offsets []int64        // of slots in the workspace, and where the last one ends
}

// A port is an input, weight or output of a graph.
type port struct {
	name string
	want ir.Type
	size func(ir.Type) (int64, error) // bytes of a buffer whose extents are numbers
}

// A slot is a part of the workspace that values share which are never alive together.
type slot struct {
	types  []ir.Type // what it must have room for
	packed bool      // matrices, as kernels read them
	behind int64     // bytes behind what is there, in which threads work
}

// An extent is a symbol in a type that an instruction uses.
type extent struct {
	dim  *ir.Dim
	want ir.Dim
}

// An instruction is one op with its places.
type instruction struct {
	Exec
	run   Func
	label string // the value that it computes
	from  []int  // place of each operand
	to    int    // place of the result

	routed bool // the result's rows are those that an expert is given
}

// Run implements lower.Program. Calls of programs of one Compiled wait for each other.
func (p *program) Run(ctx context.Context, call *lower.Call) error {
	if err := p.c.acquire(ctx); err != nil {
		return err
	}
	defer p.c.release()
	defer p.forget()
	err := p.bindCall(call)
	switch {
	case err != nil:
	case p.group != nil && p.group.wanted(call):
		err = p.group.run(ctx, call)
	case len(call.Group) != 0:
		err = errors.New("a group call of a graph that is no expert")
	default:
		err = p.runOnce(ctx)
	}
	if cancelled := ctx.Err(); cancelled != nil {
		return cancelled
	}
	if err != nil {
		return fmt.Errorf("graph %s: %w", p.graph.Name, err)
	}
	return nil
}

// forget drops the call's memory.
func (p *program) forget() {
	clear(p.at)
	for _, in := range p.code {
		for i := range in.In {
			in.In[i].Mem = nil
		}
		in.Out.Mem = nil
	}
}

func (p *program) runOnce(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return err
	}
	if err := p.set(p.dims); err != nil {
		return err
	}
	return p.execute(ctx, nil)
}

// prepare lays out the slots at the extents in dims and gives them their memory.
func (p *program) prepare() error {
	if p.offsets == nil || !maps.Equal(p.dims, p.laid) {
		offsets, err := p.layout(p.dims)
		if err != nil {
			return err
		}
		p.offsets, p.laid = offsets, maps.Clone(p.dims)
	}
	space, err := p.c.workspace(p.offsets[len(p.slots)])
	if err != nil {
		return err
	}
	first := p.firstSlot()
	for i := range p.slots {
		p.at[first+i] = lower.Buffer{Mem: space, Off: p.offsets[i], Len: p.offsets[i+1] - p.offsets[i]}
	}
	return nil
}

func (p *program) firstSlot() int { return len(p.inputs) + len(p.weights) + len(p.outputs) }

// layout returns where slots start, and where the last one ends.
func (p *program) layout(dims lower.Dims) ([]int64, error) {
	offsets, total := make([]int64, 1, len(p.slots)+1), int64(0)
	for _, s := range p.slots {
		most := int64(0)
		for _, t := range s.types {
			bound, err := dims.Bind(t)
			if err != nil {
				return nil, err
			}
			n, err := s.size(bound)
			if err != nil {
				return nil, err
			}
			most = max(most, lower.RoundUp(n, lower.Align))
		}
		most += s.behind
		if total += most; total < 0 || total > maxBytes {
			return nil, fmt.Errorf("the workspace%s is larger than %d bytes", dims, int64(maxBytes))
		}
		offsets = append(offsets, total)
	}
	return offsets, nil
}

func (s *slot) size(t ir.Type) (int64, error) {
	if s.packed {
		return packedSize(t)
	}
	return size(t)
}

// packedSize is the bytes of a matrix of any extents as the host's kernels read it.
func packedSize(t ir.Type) (int64, error) {
	if slices.Contains(t.Dims, ir.N(0)) {
		return 0, nil
	}
	return kernel.Packing.Size(t)
}

// footprint is the size of the workspace that a call of the given extents uses.
func (p *program) footprint(dims lower.Dims) (int64, error) {
	if p.group != nil {
		return p.group.footprint(dims)
	}
	offsets, err := p.layout(dims)
	if err != nil {
		return 0, err
	}
	return offsets[len(p.slots)], nil
}

// set gives the instructions' types the extents in dims, and their buffers the
// memory of their places.
func (p *program) set(dims lower.Dims) error {
	for _, e := range p.open {
		n, err := dims.Of(e.want)
		if err != nil {
			return err
		}
		*e.dim = ir.N(n)
	}
	for _, in := range p.code {
		for i, place := range in.from {
			p.put(&in.In[i], place)
		}
		p.put(&in.Out, in.to)
	}
	return nil
}

// put points b at a place.
func (p *program) put(b *lower.Buffer, place int) {
	at := &p.at[place]
	b.Mem, b.Off, b.Len, b.Factor = at.Mem, at.Off, at.Len, at.Factor
	if s := place - p.firstSlot(); s >= 0 && !p.slots[s].packed {
		b.Len = lower.Size(b.Type)
	}
}

// execute runs the instructions. In a group call, routed are the rows of x that the graph gathers.
func (p *program) execute(ctx context.Context, routed []int32) error {
	for _, in := range p.code {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.c.run(p.graph.Name, in); err != nil {
			if in.routed {
				err = lower.MapRow(err, len(routed), func(row int) int { return int(routed[row]) })
			}
			return fmt.Errorf("%s: %w", in.label, err)
		}
	}
	return ctx.Err()
}
