package check_test

import (
	"context"
	"slices"

	"estream/ir"
	"estream/lower"
)

// A faulty backend is another whose program of one graph doubles one output, or
// all there are, or fails.
type faulty struct {
	lower.Backend
	graph, output string
	err           error
}

func (f faulty) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	c, err := f.Backend.Compile(ctx, m, p)
	return faultyCompiled{c, f, m}, err
}

type faultyCompiled struct {
	lower.Compiled
	f faulty
	m *ir.Module
}

func (c faultyCompiled) Program(graph string) (lower.Program, error) {
	p, err := c.Compiled.Program(graph)
	if graph != c.f.graph || err != nil {
		return p, err
	}
	at := slices.IndexFunc(c.m.Graph(graph).Outputs, func(v *ir.Value) bool { return v.Name == c.f.output })
	return faultyProgram{p, max(at, 0), c.f.err}, nil
}

type faultyProgram struct {
	lower.Program
	output int
	err    error
}

func (p faultyProgram) Run(ctx context.Context, call *lower.Call) error {
	if p.err != nil {
		return p.err
	}
	err := p.Program.Run(ctx, call)
	for i, x := range lower.F32(call.Out[p.output].Bytes()) {
		lower.F32(call.Out[p.output].Bytes())[i] = 2 * x
	}
	return err
}
