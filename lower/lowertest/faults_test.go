package lowertest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// A faulty is a backend whose calls do something else afterwards, or instead.
type faulty struct {
	*reference
	instead, after func(c *lower.Call)
}

func (f *faulty) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	x, err := (&reference{}).Compile(ctx, m, p)
	return faultyModule{x, f}, err
}

type faultyModule struct {
	lower.Compiled
	f *faulty
}

func (m faultyModule) Program(g string) (lower.Program, error) {
	p, err := m.Compiled.Program(g)
	return faultyProgram{p, m.f}, err
}

type faultyProgram struct {
	lower.Program
	f *faulty
}

func (p faultyProgram) Run(ctx context.Context, c *lower.Call) error {
	if p.f.instead != nil {
		p.f.instead(c)
		return nil
	}
	err := p.Program.Run(ctx, c)
	p.f.after(c)
	return err
}

// TestFaultsAreFound shows that each rule of the suite can be broken.
func TestFaultsAreFound(t *testing.T) {
	good := attention(steps[3], attentionShapes[0], ir.F32, 0)
	past := attention(steps[5], attentionShapes[0], ir.F32, 0)
	topk := topK(5, 9, 4)
	p := (&reference{}).Packings()[0]
	o := Options{Tolerance: Tolerance{1e-5, "float32"}}
	for _, c := range []struct {
		name string
		c    testCase
		f    *faulty
		want string
	}{
		{"a number is off", good, &faulty{after: func(c *lower.Call) { lower.F32(c.Out[0].Bytes())[35] += 1 }}, "output 0 out f32[6,4,8]: worst is element 35 [1 0 3]: got "},
		{"a number is NaN", good, &faulty{after: func(c *lower.Call) { lower.F32(c.Out[0].Bytes())[8] = nan }}, "element 8 [0 1 0]: got NaN"},
		{"nothing is written", good, &faulty{instead: func(*lower.Call) {}}, "element 0 [0 0 0]: got NaN"},
		{"another row of the state", past, &faulty{after: func(c *lower.Call) { lower.F32(c.Out[1].Bytes())[1] = 3 }}, "output 1 state.next, part 0 f32"},
		{"an input", good, &faulty{after: func(c *lower.Call) { c.In[1].Bytes()[5]++ }}, "input k, which is only read: byte 5"},
		{"memory behind an output", good, &faulty{after: func(c *lower.Call) { c.Out[0].Mem.Bytes()[c.Out[0].Off+c.Out[0].Len] = 0 }}, "memory before the end: byte 0"},
		{"memory before an input", good, &faulty{after: func(c *lower.Call) { c.In[0].Mem.Bytes()[c.In[0].Off-1] = 0 }}, "memory before input q: byte 127"},
		{"an id is off", topk, &faulty{after: func(c *lower.Call) { lower.I32(c.Out[0].Bytes())[3]++ }}, "whole numbers, codes and scales are exact"},
		{"a panic", good, &faulty{instead: func(*lower.Call) { panic("index out of range") }}, "panic: index out of range"},
		{"NaN goes on", topK(1, 3, 1).with(tensors{"x": interp.Floats([]float32{1, nan, 2}, 1, 3)}).failing(), &faulty{instead: func(*lower.Call) {}}, "got error <nil>, the interpreter "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &ir.Module{Layers: []string{"c0"}, Graphs: []*ir.Graph{c.c.graph}}
			require.NoError(t, c.c.check(&faulty{after: func(*lower.Call) {}}, p, o, m))
			require.ErrorContains(t, c.c.check(c.f, p, o, m), c.want)
		})
	}
}

// TestFaultsOfGroups gives y bits that depend on the group.
func TestFaultsOfGroups(t *testing.T) {
	y := odd()
	p := (&reference{}).Packings()[0]
	g, err := y.callee(p)
	require.NoError(t, err)
	f := &faulty{after: func(c *lower.Call) { lower.F32(c.Out[0].Bytes())[0] *= 1 + 1e-7*float32(len(c.Group)) }}
	err = y.check(f, p, Options{Tolerance: Tolerance{1e-5, "float32"}}, moduleOf(g))
	require.EqualError(t, err, "groups of [1 1 1 1 1] experts and one of [5] give different bits")
}

// TestFaultsOfCalls runs what must be refused.
func TestFaultsOfCalls(t *testing.T) {
	x, err := (&faulty{instead: func(*lower.Call) {}}).Compile(context.Background(), &ir.Module{Graphs: []*ir.Graph{{Name: "g"}}}, lower.Packing{})
	require.NoError(t, err)
	require.EqualError(t, refused(x, "g", nil), "it ran, want an error")
	x, err = (&faulty{instead: func(*lower.Call) { panic("no") }}).Compile(context.Background(), &ir.Module{Graphs: []*ir.Graph{{Name: "g"}}}, lower.Packing{})
	require.NoError(t, err)
	require.True(t, errors.Is(refused(x, "g", nil), errPanic))
}

// TestEveryOp shows that the suite leaves no operator out.
func TestEveryOp(t *testing.T) {
	have := map[*ir.Op]bool{}
	for _, s := range suites() {
		for _, c := range s.cases() {
			for _, v := range c.graph.Values {
				have[v.Op] = true
			}
		}
	}
	have[ir.Experts] = true         // run as group calls of its callee
	have[ir.AttentionMasked] = true // what static backends make of attention
	have[ir.ConvPast] = true        // and of conv
	for _, op := range ir.CoreOps() {
		require.True(t, have[op], "no case has %s", op)
	}
}
