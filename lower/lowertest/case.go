package lowertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	}
	return true
}

// supported reports whether b runs g, a graph of m. A refusal must say what it
// is of and wrap ErrUnsupported.
func supported(t *testing.T, b lower.Backend, o Options, m *ir.Module, g *ir.Graph) bool {
	ok := true
	for _, v := range g.Values {
		if v.Op == ir.Input || v.Op == ir.Weight {
			continue
		}
		err := b.Supports(v)
		if err == nil {
			continue
		}
		ok = false
		if !errors.Is(err, lower.ErrUnsupported) {
			t.Errorf("graph %s: %s: Supports: %q does not wrap ErrUnsupported", g.Name, v, err)
		}
		for _, part := range append(operandTypes(v), v.Op.Name) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("graph %s: %s: Supports: %q does not name %q", g.Name, v, err, part)
			}
		}
	}
	if o.Prepare == nil {
		return ok
	}
	m, err := prepared(b, o, m)
	switch {
	case err == nil:
		return m.Graph(g.Name).On == stand(b)
	case !errors.Is(err, lower.ErrUnsupported):
		t.Errorf("%v\n%s", err, g)
	}
	return false
}

// stand returns what Graph.On is for b.
func stand(b lower.Backend) string {
	if b.Name() == "host" {
		return ""
	}
	return b.Name()
}

// prepared returns m as b compiles it.
func prepared(b lower.Backend, o Options, m *ir.Module) (*ir.Module, error) {
	m = m.Clone()
	if o.Prepare != nil {
		return m, o.Prepare(m)
	}
	for _, g := range m.Graphs {
		g.On = stand(b)
	}
	return m, nil
}

func operandTypes(v *ir.Value) []string {
	var s []string
	for _, a := range v.Args {
		s = append(s, a.Type.String())
	}
	return s
}

// fits reports whether packing p holds all matrices of g.
func fits(g *ir.Graph, p lower.Packing) bool {
	for _, w := range g.Weights() {
		if _, err := weightSize(g, w, w.Type, p); err != nil {
			return false
		}
	}
	return true
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
	want, wantErr := interp.Eval(nil, c.graph, cloneAll(c.in), interp.Options{})
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
	return nil
}

// tolerance returns the widest that applies to the case.
func (c testCase) tolerance(o Options) Tolerance {
	tol := o.Tolerance.or(c.tol).or(rounding(c.graph))
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

// compile compiles m as the backend wants it, and returns that too.
func compile(b lower.Backend, p lower.Packing, o Options, m *ir.Module) (lower.Compiled, *ir.Module, error) {
	m, err := prepared(b, o, m)
	if err != nil {
		return nil, nil, err
	}
	x, err := b.Compile(context.Background(), m, p)
	if err != nil {
		return nil, nil, fmt.Errorf("compile: %w", err)
	}
	return x, m, nil
}

// prepare puts the case's tensors on a stage.
func (c testCase) prepare(x lower.Compiled, p lower.Packing) (*stage, *lower.Call, error) {
	s, call, g := &stage{}, &lower.Call{}, c.graph
	dims := lower.Dims{}
	at := map[*ir.Value]lower.Buffer{}
	for _, v := range g.Inputs() {
		ty := c.in[v.Name].Type
		if err := dims.Match(v.Type, ty); err != nil {
			return nil, nil, err
		}
		at[v] = s.add("input "+v.Name, ty, lower.Size(ty), written(g, v))
	}
	for _, w := range g.Weights() {
		size, err := weightSize(g, w, w.Type, p)
		if err != nil {
			return nil, nil, err
		}
		at[w] = s.add("weight "+w.Name, w.Type, size, false)
	}
	for i, v := range g.Outputs {
		if home := origin(v); at[home].Type.DType == ir.Invalid {
			ty, err := dims.Bind(v.Type)
			if err != nil {
				return nil, nil, err
			}
			at[v] = s.add(fmt.Sprint("output ", i), ty, lower.Size(ty), true)
		}
	}
	if err := s.open(x); err != nil {
		return s, nil, err
	}
	place := func(v *ir.Value) lower.Buffer {
		b := at[v]
		b.Mem = s.mem
		return b
	}
	for _, v := range g.Inputs() {
		call.In = append(call.In, place(v))
		store(place(v), c.in[v.Name])
	}
	for _, w := range g.Weights() {
		b := place(w)
		if err := storeWeight(b.Bytes(), g, w, c.in[w.Name], p); err != nil {
			return s, nil, err
		}
		b.Factor = factor(c.in[w.Name])
		call.Weights = append(call.Weights, b)
	}
	for _, v := range g.Outputs {
		home := origin(v)
		if at[home].Type.DType == ir.Invalid {
			home = v
		}
		call.Out = append(call.Out, place(home))
	}
	return s, call, nil
}

// origin returns the value whose memory v is written in.
func origin(v *ir.Value) *ir.Value {
	for v.Op == ir.Append || v.Op == ir.Shift || v.Op == ir.ScatterAdd {
		v = v.Args[v.Attr.(ir.InplaceAttr).Inplace]
	}
	return v
}

// written reports whether an op of g writes over input v.
func written(g *ir.Graph, v *ir.Value) bool {
	for _, u := range g.Values {
		if u != v && origin(u) == v {
			return true
		}
	}
	return false
}

// runCall runs a program; a panic is an error.
func runCall(ctx context.Context, x lower.Compiled, graph string, c *lower.Call) error {
	return caught(func() error {
		p, err := x.Program(graph)
		if err != nil {
			return err
		}
		return p.Run(ctx, c)
	})
}

var errPanic = errors.New("panic")

// caught returns f's error, or errPanic.
func caught(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return f()
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
