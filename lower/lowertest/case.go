package lowertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// A testCase is one graph and the tensors of one call, by name.
type testCase struct {
	name  string
	graph *ir.Graph
	in    map[string]*interp.Tensor
	tol   Tolerance // if wider than the backend's
	fails bool      // the call must be an error
}

// run checks a case in every packing that the backend has, and reports whether
// the backend supports it.
func (c testCase) run(t *testing.T, b lower.Backend, o Options) bool {
	c.cut(o.Largest)
	m := &ir.Module{Layers: []string{"c0"}, Graphs: []*ir.Graph{c.graph}}
	if !supported(t, b, o, m, c.graph) {
		return false
	}
	for _, p := range o.Packings {
		if !fits(c.graph, p) {
			continue
		}
		if err := c.check(b, p, o, m); err != nil {
			t.Errorf("%s, packing %s: %v\n%s", c.name, p.Name, err, c.graph)
		}
		if !packs(c.graph) {
			break // the others are the same
		}
	}
	return true
}

// cut brings the numbers that the case is given within ±largest, if that is not 0.
func (c testCase) cut(largest float32) {
	for _, x := range c.in {
		for i, f := range x.F {
			if largest > 0 && f == f {
				x.F[i] = min(max(f, -largest), largest)
			}
		}
	}
}

// packs reports whether g reads a packed matrix.
func packs(g *ir.Graph) bool {
	return slices.ContainsFunc(g.Weights(), func(w *ir.Value) bool { return lower.IsMatrix(g, w) })
}

// check runs the case once and compares it with the interpreter.
func (c testCase) check(b lower.Backend, p lower.Packing, o Options, m *ir.Module) (err error) {
	x, m, err := compile(b, p, o, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	c.graph = m.Graph(c.graph.Name)
	s, call, err := c.prepare(x, p)
	if s != nil && s.mem != nil {
		defer func() { err = errors.Join(err, s.mem.Free()) }()
	}
	if err != nil {
		return err
	}
	want, wantErr := interp.Eval(nil, c.graph, cloneAll(c.in), interp.Options{Ops: o.table()})
	s.start()
	err = runCall(context.Background(), x, c.graph.Name, call)
	if c.fails {
		if err == nil || wantErr == nil || errors.Is(err, errPanic) {
			return fmt.Errorf("got error %v, the interpreter %v, want both to fail", err, wantErr)
		}
		return nil
	}
	if err := errors.Join(err, wantErr, s.intact()); err != nil {
		return err
	}
	for i, w := range want {
		if err := compare(fmt.Sprintf("output %d %s", i, c.graph.Outputs[i].Name), load(call.Out[i]), w, c.tolerance(o)); err != nil {
			return err
		}
	}
	return c.rowByRow(x, call, o)
}

// tolerance returns the widest that applies to the case.
func (c testCase) tolerance(o Options) Tolerance {
	tol := o.of(c.graph).or(c.tol).or(rounding(c.graph))
	for _, v := range c.graph.Inputs() {
		for _, p := range v.Type.Parts {
			if p.DType != ir.F32 {
				return tol.or(o.Half)
			}
		}
	}
	return tol
}

// rounding is for graphs that quantize what they have computed.
func rounding(g *ir.Graph) Tolerance {
	for _, v := range g.Values {
		if v.Op == ir.Quantize && v.Args[0].Op != ir.Input {
			return Tolerance{4e-3, "a value that is quantized may round to the next code"}
		}
	}
	return Tolerance{}
}

// prepare puts the case's tensors on a stage.
func (c testCase) prepare(x lower.Compiled, p lower.Packing) (*stage, *lower.Call, error) {
	s, at := &stage{}, map[*ir.Value]lower.Buffer{}
	if err := c.plan(s, at, p); err != nil {
		return nil, nil, err
	}
	if err := s.open(x); err != nil {
		return s, nil, err
	}
	place := func(v *ir.Value) lower.Buffer {
		b := at[v]
		b.Mem = s.mem
		return b
	}
	call := &lower.Call{}
	for _, v := range c.graph.Inputs() {
		call.In = append(call.In, place(v))
		store(place(v), c.in[v.Name])
	}
	for _, w := range c.graph.Weights() {
		b := place(w)
		if err := storeWeight(b.Bytes(), c.graph, w, c.in[w.Name], p); err != nil {
			return s, nil, err
		}
		b.Factor = factor(c.in[w.Name])
		call.Weights = append(call.Weights, b)
	}
	home := c.graph.Homes()
	for _, v := range c.graph.Outputs {
		if _, own := at[v]; !own {
			v = home[v]
		}
		call.Out = append(call.Out, place(v))
	}
	return s, call, nil
}

// plan gives inputs, weights, and outputs that are not written in place, their
// buffers on s.
func (c testCase) plan(s *stage, at map[*ir.Value]lower.Buffer, p lower.Packing) error {
	dims := lower.Dims{}
	for _, v := range c.graph.Inputs() {
		t := c.in[v.Name].Type
		if err := dims.Match(v.Type, t); err != nil {
			return err
		}
		at[v] = s.add("input "+v.Name, t, lower.Size(t), written(c.graph, v))
	}
	for _, w := range c.graph.Weights() {
		size, err := weightSize(c.graph, w, p)
		if err != nil {
			return err
		}
		at[w] = s.add("weight "+w.Name, w.Type, size, false)
	}
	home := c.graph.Homes()
	for i, v := range c.graph.Outputs {
		if _, inplace := at[home[v]]; inplace {
			continue
		}
		t, err := dims.Bind(v.Type)
		if err != nil {
			return err
		}
		at[v] = s.add(fmt.Sprint("output ", i), t, lower.Size(t), true)
	}
	return nil
}

// written reports whether an op of g writes over input v.
func written(g *ir.Graph, v *ir.Value) bool {
	home := g.Homes()
	return slices.ContainsFunc(g.Values, func(u *ir.Value) bool { return u.Overwrites() != nil && home[u] == v })
}

// cloneAll returns copies of what a graph may write over.
func cloneAll(in map[string]*interp.Tensor) map[string]*interp.Tensor {
	out := map[string]*interp.Tensor{}
	for name, x := range in {
		out[name] = clone(x)
	}
	return out
}

func clone(x *interp.Tensor) *interp.Tensor {
	c := *x
	c.F = append([]float32(nil), x.F...)
	c.Parts = nil
	for _, p := range x.Parts {
		c.Parts = append(c.Parts, clone(p))
	}
	return &c
}
