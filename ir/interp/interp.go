// Package interp evaluates any graph of package ir, one op after another, in
// float32 with float64 sums: slow, plain, the judge of every backend. It is a
// table from op to function, which a plug-in extends with its own ops.
//
// What is fixed, so that others can be held to it:
//
//	P1 an op computes in float64 and rounds each element once; quantize alone rounds at every step, to float32
//	P2 a quantized activation meets an encoded weight in whole numbers, exactly, group by group
//	P3 experts run in ascending order on their rows in ascending order, and are added in that order in float32
//	P4 an op that writes in place changes its operand's tensor and returns it
//
// Memory: tensors belong to the caller and are read only, except those that the
// graph writes in place: a state given as input holds the next state
// afterwards. Outputs are new tensors, or inputs written in place. Nothing is
// kept after Eval returns. After an error such a state is undefined.
//
// Graphs must be ones that Verify accepts. Tensors may be malformed: that is an
// error, never a panic.
package interp

import (
	"fmt"

	"estream/ir"
)

// A Func computes one op's result, which must have type c.Type.
type Func func(c *Call) (*Tensor, error)

// A Table says how ops are computed.
type Table map[*ir.Op]Func

// A Call is what a Func may know. The arguments have the types of the value's
// operands, with numbers for extents.
type Call struct {
	Value *ir.Value // its attribute, body and operands
	Type  ir.Type   // of the result, extents are numbers
	Args  []*Tensor

	frame *frame
}

// Options are what an evaluation may need beside its inputs.
type Options struct {
	Ops Table // nil: Core()

	// Experts returns the weights of an expert, by name, for the value v, whose
	// attribute names the callee if it is extracted.
	Experts func(v *ir.Value, expert int) (map[string]*Tensor, error)

	// Tap is shown each value after it is computed, those of bodies and callees
	// once an expert. It must not change t, nor keep it: an op that writes in
	// place may change it later.
	Tap func(g *ir.Graph, v *ir.Value, t *Tensor)
}

// Eval evaluates g and returns its outputs. in holds g's inputs and weights by
// name, others are ignored; symbols are bound from their extents. m is where
// callees are looked up and may be nil if g has none.
func Eval(m *ir.Module, g *ir.Graph, in map[string]*Tensor, o Options) ([]*Tensor, error) {
	if o.Ops == nil {
		o.Ops = Core()
	}
	return (&frame{Options: o, module: m, graph: g, in: in}).run()
}

// A frame is the evaluation of one graph.
type frame struct {
	Options
	module *ir.Module
	graph  *ir.Graph
	in     map[string]*Tensor
	dims   ir.Dims
}

func (f *frame) run() ([]*Tensor, error) {
	if err := f.bind(); err != nil {
		return nil, err
	}
	values := map[*ir.Value]*Tensor{}
	pick := func(vs []*ir.Value) []*Tensor {
		ts := make([]*Tensor, len(vs))
		for i, v := range vs {
			ts[i] = values[v]
		}
		return ts
	}
	for _, v := range f.graph.Values {
		t, err := f.value(v, pick(v.Args))
		if err != nil {
			return nil, f.errorf(v, "%w", err)
		}
		if values[v] = t; f.Tap != nil {
			f.Tap(f.graph, v, t)
		}
	}
	return pick(f.graph.Outputs), nil
}

func (f *frame) value(v *ir.Value, args []*Tensor) (*Tensor, error) {
	compute, ok := f.Ops[v.Op]
	if !ok {
		return nil, fmt.Errorf("the interpreter has no function for this op: a plug-in adds one to its table")
	}
	t, err := f.dims.Bind(v.Type)
	if err != nil {
		return nil, err
	}
	out, err := compute(&Call{Value: v, Type: t, Args: args, frame: f})
	if err != nil {
		return nil, err
	}
	if err := out.check(); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if !out.Type.Equal(t) {
		return nil, fmt.Errorf("result has type %s, want %s", out.Type, t)
	}
	return out, nil
}

// errorf names the graph and the value that an error is about.
func (f *frame) errorf(v *ir.Value, format string, args ...any) error {
	return fmt.Errorf("graph %s: %s: %w", f.graph.Name, v.Label(), fmt.Errorf(format, args...))
}
