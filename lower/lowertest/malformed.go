package lowertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"estream/ir"
	"estream/lower"
)

// A flaw spoils a good call.
type flaw struct {
	name  string
	spoil func(c *lower.Call)
}

// flaws are those that a call of any graph with inputs x first and a weight may have.
func flaws() []flaw {
	each := func(name string, pick func(c *lower.Call) *lower.Buffer) []flaw {
		return []flaw{
			{name + " without memory", func(c *lower.Call) { pick(c).Mem = nil }},
			{name + " that is too short", func(c *lower.Call) { pick(c).Len -= 4 }},
			{name + " of negative length", func(c *lower.Call) { pick(c).Len = -4 }},
			{name + " at a negative offset", func(c *lower.Call) { pick(c).Off = -64 }},
			{name + " beyond its memory", func(c *lower.Call) { pick(c).Off = int64(len(pick(c).Mem.Bytes())) - 4 }},
			{name + " at an offset that overflows", func(c *lower.Call) { pick(c).Off = math.MaxInt64 - 63 }},
			{name + " of another type", func(c *lower.Call) { pick(c).Type.DType = ir.I32 }},
			{name + " of another rank", func(c *lower.Call) { pick(c).Type.Dims = append(slices.Clone(pick(c).Type.Dims), ir.N(1)) }},
			{name + " of another width", func(c *lower.Call) { pick(c).Type = pick(c).Type.WithLast(ir.N(9)) }},
		}
	}
	fs := []flaw{
		{"no inputs", func(c *lower.Call) { c.In = nil }},
		{"one output too many", func(c *lower.Call) { c.Out = append(slices.Clone(c.Out), c.Out[0]) }},
		{"no outputs", func(c *lower.Call) { c.Out = nil }},
		{"an output with more rows", func(c *lower.Call) { c.Out[0].Type.Dims = append([]ir.Dim{ir.N(99)}, c.Out[0].Type.Dims[1:]...) }},
	}
	fs = append(fs, each("an input", func(c *lower.Call) *lower.Buffer { return &c.In[0] })...)
	return append(fs, each("an output", func(c *lower.Call) *lower.Buffer { return &c.Out[0] })...)
}

func weightFlaws() []flaw {
	return []flaw{
		{"no weights", func(c *lower.Call) { c.Weights = nil }},
		{"a weight too many", func(c *lower.Call) { c.Weights = append(slices.Clone(c.Weights), c.Weights[0]) }},
		{"a weight without memory", func(c *lower.Call) { c.Weights[0].Mem = nil }},
		{"a weight that is too short", func(c *lower.Call) { c.Weights[0].Len -= 64 }},
		{"a weight beyond its memory", func(c *lower.Call) { c.Weights[0].Off = int64(len(c.Weights[0].Mem.Bytes())) - 64 }},
		{"a weight of another type", func(c *lower.Call) { c.Weights[0].Type.DType = ir.W8 }},
		{"a weight of other extents", func(c *lower.Call) { c.Weights[0].Type = c.Weights[0].Type.WithLast(ir.N(3)) }},
	}
}

func groupFlaws() []flaw {
	first := func(spoil func(e *lower.Expert)) func(c *lower.Call) {
		return func(c *lower.Call) {
			c.Group = slices.Clone(c.Group)
			spoil(&c.Group[0])
		}
	}
	return []flaw{
		{"an expert without memory", first(func(e *lower.Expert) { e.Record.Mem = nil })},
		{"a record that is too short", first(func(e *lower.Expert) { e.Record.Len -= 128 })},
		{"a record beyond its memory", first(func(e *lower.Expert) { e.Record.Off = int64(len(e.Record.Mem.Bytes())) - 64 })},
		{"a record at a negative offset", first(func(e *lower.Expert) { e.Record.Off = -128 })},
		{"an expert without factors", first(func(e *lower.Expert) { e.Factors = nil })},
		{"rows without weights", first(func(e *lower.Expert) { e.W = nil })},
		{"a negative row", first(func(e *lower.Expert) { e.Rows = []int32{-1} })},
		{"a row beyond x", first(func(e *lower.Expert) { e.Rows = []int32{13} })},
	}
}

// testMalformed spoils good calls of three kinds of graphs: each must be an error.
func testMalformed(t *testing.T, b lower.Backend, o Options) {
	linear := newCase("linear", lower.Dims{"T": 3}, params{"w.weight": f32(n(8), n(12))}, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.SiLU(b.Linear(b.Input("x", f32(ir.T, n(12))), "w"))}
	})
	for _, f := range append(flaws(), weightFlaws()...) {
		linear.malformed(t, b, o, f)
	}
	state := attention(steps[4], attentionShapes[0], ir.F32, 0)
	for _, f := range flaws() {
		state.malformed(t, b, o, f)
	}
	for i, name := range []string{"pos", "seq", "past", "base", "parent", "state"} {
		state.malformed(t, b, o, flaw{name + " without memory", func(c *lower.Call) { c.In[3+i].Mem = nil }})
		state.malformed(t, b, o, flaw{name + " of other extents", func(c *lower.Call) {
			b := &c.In[3+i]
			if b.Type.Parts = slices.Clone(b.Type.Parts); name == "state" {
				b.Type.Parts[0].Dims = append([]ir.Dim{ir.N(1)}, b.Type.Parts[0].Dims[1:]...)
			} else {
				b.Type.Dims = []ir.Dim{ir.N(2)}
			}
		}})
	}
	state.malformed(t, b, o, flaw{"two sequences on the same rows", func(c *lower.Call) {
		b := &c.In[6]
		base := slices.Clone(lower.I32(b.Bytes()))
		base[1] = base[0]
		b.Mem, b.Off = lower.Wrap(base), 0
	}})
	y := gated(ir.F32, ir.F32, 24, 40)
	for _, f := range append(flaws(), groupFlaws()...) {
		y.malformed(t, b, o, f)
	}
}

func (c testCase) malformed(t *testing.T, b lower.Backend, o Options, f flaw) {
	m := &ir.Module{Layers: []string{"c0"}, Graphs: []*ir.Graph{c.graph}}
	if !supported(t, b, o, m, c.graph) {
		o.refused(t, c.graph.Outputs[0].Op, c.name)
		return
	}
	p := b.Packings()[0]
	x, _, err := compile(b, p, o, m)
	if err != nil {
		t.Error(err)
		return
	}
	defer x.Close()
	s, call, err := c.prepare(x, p)
	if err == nil {
		s.start()
		f.spoil(call)
		err = refused(x, c.graph.Name, call)
	}
	if err := errors.Join(err, s.intact(), s.mem.Free()); err != nil {
		t.Errorf("%s: a call with %s: %v", c.name, f.name, err)
	}
}

func (y body) malformed(t *testing.T, b lower.Backend, o Options, f flaw) {
	p := b.Packings()[0]
	g, err := y.callee(p)
	if err != nil {
		t.Error(err)
		return
	}
	m := moduleOf(g)
	if !supported(t, b, o, m, g) {
		o.refused(t, ir.Experts, y.name)
		return
	}
	x, _, err := compile(b, p, o, m)
	if err != nil {
		t.Error(err)
		return
	}
	defer x.Close()
	s, err := newGroupCase(g).stage(p, x)
	if err == nil {
		f.spoil(&s.call)
		err = refused(x, g.Name, &s.call)
	}
	if err := errors.Join(err, s.stage.intact(), s.stage.mem.Free()); err != nil {
		t.Errorf("%s: a call with %s: %v", y.name, f.name, err)
	}
}

// refused returns nil if the call is an error.
func refused(x lower.Compiled, graph string, c *lower.Call) error {
	err := runCall(context.Background(), x, graph, c)
	switch {
	case err == nil:
		return fmt.Errorf("it ran, want an error")
	case errors.Is(err, errPanic):
		return err
	}
	return nil
}
