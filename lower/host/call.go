package host

import (
	"fmt"

	"estream/ir"
	"estream/lower"
)

// maxBytes is more than any tensor here may have.
const maxBytes = 1 << 46

// size is lower.Size of a type whose extents are numbers, checked.
func size(t ir.Type) (int64, error) {
	for _, p := range t.Parts {
		if _, err := size(p); err != nil {
			return 0, err
		}
	}
	n := int64(1)
	for _, d := range t.Dims {
		if d.Sym != "" || d.N < 0 || n > maxBytes/16/int64(max(d.N, 1)) {
			return 0, fmt.Errorf("type %s has no size", t)
		}
		n *= int64(max(d.N, 1))
	}
	return lower.Size(t), nil
}

// bindCall checks the buffers of a call, binds the extents and notes where inputs,
// weights and outputs lie.
func (p *program) bindCall(c *lower.Call) error {
	clear(p.dims)
	group := p.group != nil && p.group.wanted(c)
	weights := p.weights
	if group {
		weights = nil
	}
	if len(c.In) != len(p.inputs) || len(c.Weights) != len(weights) || len(c.Out) != len(p.outputs) {
		return fmt.Errorf("call has %d inputs, %d weights and %d outputs, want %d, %d and %d",
			len(c.In), len(c.Weights), len(c.Out), len(p.inputs), len(weights), len(p.outputs))
	}
	for i, b := range c.In {
		if group && p.group.Routed(i) {
			if b.Mem != nil {
				return fmt.Errorf("input %s: the experts of a group call give it", p.inputs[i].name)
			}
			continue
		}
		if err := p.bind(i, &p.inputs[i], b); err != nil {
			return fmt.Errorf("input %s: %w", p.inputs[i].name, err)
		}
	}
	for i, b := range c.Weights {
		if err := p.bind(len(p.inputs)+i, &p.weights[i], b); err != nil {
			return fmt.Errorf("weight %s: %w", p.weights[i].name, err)
		}
	}
	for i, b := range c.Out {
		if err := p.bind(len(p.inputs)+len(p.weights)+i, &p.outputs[i], b); err != nil {
			return fmt.Errorf("output %s: %w", p.outputs[i].name, err)
		}
	}
	return nil
}

// bind checks b against a port and puts it at a place.
func (p *program) bind(place int, port *port, b lower.Buffer) error {
	if err := p.dims.Match(port.want, b.Type); err != nil {
		return err
	}
	n, err := port.size(b.Type)
	if err != nil {
		return err
	}
	if err := b.Check(n); err != nil {
		return err
	}
	b.Len = n
	p.at[place] = b
	return nil
}
