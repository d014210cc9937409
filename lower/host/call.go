package host

import (
	"fmt"
	"math"

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
		if group && p.group.routed(i) {
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
	if b.Len < n {
		return fmt.Errorf("buffer has %d bytes, %s takes %d", b.Len, b.Type, n)
	}
	b.Len = n
	if err := checkBuffer(b); err != nil {
		return err
	}
	if b.Type.DType.Encoded() {
		if err := checkFactor(b.Factor); err != nil {
			return err
		}
	}
	p.at[place] = b
	return nil
}

// checkBuffer reports a buffer that is not all in its Mem, or that numbers cannot be read from.
func checkBuffer(b lower.Buffer) error {
	if b.Len == 0 {
		return nil
	}
	if b.Mem == nil {
		return fmt.Errorf("buffer of %d bytes has no memory", b.Len)
	}
	if have := int64(len(b.Mem.Bytes())); b.Off < 0 || b.Off > have || b.Len > have-b.Off {
		return fmt.Errorf("buffer of %d bytes at %d is not within its %d bytes of memory", b.Len, b.Off, have)
	}
	if b.Off%4 != 0 {
		return fmt.Errorf("buffer starts at %d, which is no multiple of 4", b.Off)
	}
	return nil
}

func checkFactor(f float32) error {
	if !(f > 0) || math.IsInf(float64(f), 0) {
		return fmt.Errorf("factor is %v, want a power of two", f)
	}
	return nil
}

// sameMemory reports whether two buffers start at the same byte.
func sameMemory(a, b lower.Buffer) bool {
	x, y := a.Bytes(), b.Bytes()
	return len(x) == 0 && len(y) == 0 || len(x) > 0 && len(y) > 0 && &x[0] == &y[0]
}
