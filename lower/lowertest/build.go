package lowertest

import (
	"fmt"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// A params is the types of a graph's weights by name, as ir.Builder takes them.
type params = map[string]ir.Type

// newCase builds a graph named "c0.body" and random tensors for its inputs and
// weights at the extents of dims. The results that build leaves unnamed are
// named out, out.2, ...
func newCase(name string, dims lower.Dims, weights params, build func(b *ir.Builder) []*ir.Value) testCase {
	b := ir.NewBuilder("c0.body", weights)
	outs := build(b)
	for _, v := range outs {
		if v.Name == "" {
			b.Named("out", v)
		}
	}
	g, err := b.Finish(outs...)
	if err != nil {
		panic(fmt.Sprintf("lowertest: case %s: %v", name, err))
	}
	c := testCase{name: name, graph: g, in: map[string]*interp.Tensor{}}
	r := newSource(name)
	for _, v := range append(g.Inputs(), g.Weights()...) {
		t, err := dims.Bind(v.Type)
		if err != nil {
			panic(fmt.Sprintf("lowertest: case %s: %v", name, err))
		}
		c.in[v.Name] = r.tensor(t)
	}
	return c
}

// with sets tensors of the case.
func (c testCase) with(in map[string]*interp.Tensor) testCase {
	for name, x := range in {
		c.in[name] = x
	}
	return c
}

// within widens the tolerance of the case.
func (c testCase) within(rel float64, why string) testCase {
	c.tol = Tolerance{rel, why}
	return c
}

// failing makes the case one whose call must be an error.
func (c testCase) failing() testCase {
	c.fails = true
	return c
}

// f32 returns the type of a float32 tensor.
func f32(dims ...ir.Dim) ir.Type { return ir.Tensor(ir.F32, dims...) }

// n returns a constant extent.
func n(extent int) ir.Dim { return ir.N(extent) }
