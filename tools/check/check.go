// Package check finds where a package first differs from another implementation
// of its model, for whoever adds a family or a backend.
//
// The other implementation wrote a golden file: a prompt, and values on its way
// through the model. Beside them stand ours, which the runtime computes, and a
// second opinion: the interpreter on the graphs that the package stores and on
// the weights in its files. If both differ from the golden, the graph says
// something else than the model; if only ours does, a program computes something
// else than its graph.
//
// All values of the prompt are in memory at once, and of the weights one layer's
// dense record and one expert. Nothing is kept after Run returns.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"estream/ir"
	"estream/ir/interp"
	"estream/models/checkpoint"
	"estream/runtime"
)

// Options says how to compare. The zero Options is right for most uses.
type Options struct {
	Prompt    string          // of the golden file; empty: the one with the most values
	Tolerance float64         // of a value, relative to the largest golden one where that is above 1; 0: Default
	Names     []Name          // nil: Names()
	Runtime   runtime.Options // how to open the package; Taps and Tap are not used
	Interp    interp.Table    // nil: interp.Core()
}

// Default is the tolerance of packages without encoded weights: room for f32 sums
// in another order.
const Default = 1e-4

// ErrTolerance is the error of a package with encoded weights for which no
// tolerance is given: what quantization costs, nobody here knows.
var ErrTolerance = errors.New("the package has encoded weights, which differ from the golden's: give --tolerance, or pack with --encoding f32 to judge a family")

// Run compares the package in dir with the golden file. The error is about what
// could not be compared; differences are in the Report.
func Run(ctx context.Context, dir, goldenPath string, o Options) (_ *Report, err error) {
	ckpt, err := checkpoint.SafeTensors.Open(goldenPath, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	defer ckpt.Close()
	g, err := newGolden(ctx, ckpt, o.Prompt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", goldenPath, err)
	}
	p, err := openPackage(dir, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if o.Tolerance == 0 && p.encoded() {
		return nil, ErrTolerance
	}
	pairs, skipped := p.match(g, o)
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s: no value of prompt %s is one of the package: it has %v", goldenPath, g.prompt, skipped)
	}
	ours, err := newRunner(ctx, dir, pairs, o.Runtime)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	r := &Report{Prompt: g.prompt, Tolerance: cmp.Or(o.Tolerance, Default), Encoded: p.encoded(), Skipped: skipped, First: -1}
	r.fail("the run", ours.run(ctx, g.prompts))
	second, err := p.interpret(ctx, g.prompts, pairs, o.Interp)
	r.fail("the interpreter", err)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.fill(ctx, g, pairs, ours.values, second); err != nil {
		return nil, fmt.Errorf("%s: %w", goldenPath, err)
	}
	return r, nil
}

// fill compares every pair.
func (r *Report) fill(ctx context.Context, g *golden, pairs []pair, ours, interp values) error {
	for _, p := range pairs {
		want, err := g.values(ctx, p.golden)
		if err == nil {
			err = r.compare(p, want, ours.sum(p), interp.sum(p))
		}
		if err != nil {
			return err
		}
	}
	r.judge()
	return nil
}

// A golden is one prompt of a golden file and the values that belong to it.
type golden struct {
	ckpt    checkpoint.Checkpoint
	prompt  string
	prompts [][]int32
	tensors map[string]checkpoint.Tensor // by name without the prompt
}

func newGolden(ctx context.Context, ckpt checkpoint.Checkpoint, prompt string) (*golden, error) {
	all := byPrompt(ckpt.Tensors())
	if prompt == "" {
		for name := range all {
			if n, most := len(all[name]), len(all[prompt]); n > most || n == most && name < prompt {
				prompt = name
			}
		}
	}
	g := &golden{ckpt: ckpt, prompt: prompt, tensors: all[prompt]}
	if _, ok := g.tensors[inputIDs]; !ok {
		var known []string
		for name := range all {
			known = append(known, name)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("no tensor %s.%s: the prompts are %q", prompt, inputIDs, known)
	}
	ids, err := g.values(ctx, inputIDs)
	if err != nil {
		return nil, err
	}
	for row := range slices.Chunk(ids.data, max(1, ids.shape[len(ids.shape)-1])) {
		p := make([]int32, len(row))
		for i, id := range row {
			p[i] = int32(id)
		}
		g.prompts = append(g.prompts, p)
	}
	delete(g.tensors, inputIDs)
	return g, nil
}

// A tensor is a golden's values and shape.
type tensor struct {
	data  []float32
	shape []int
	exact bool // whole numbers: ids
}

func (g *golden) values(ctx context.Context, name string) (tensor, error) {
	t := g.tensors[name]
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	if len(t.Shape) == 0 || n == 0 {
		return tensor{}, fmt.Errorf("tensor %s has no elements", t.Name)
	}
	out := tensor{make([]float32, n), t.Shape, t.DType == "I32" || t.DType == "I64"}
	return out, g.ckpt.Read(ctx, t.Name, 0, t.Shape[0], out.data)
}

// ops are those that the package may use.
func (o Options) ops() (ir.Ops, error) {
	if o.Runtime.Ops != nil {
		return o.Runtime.Ops, nil
	}
	return ir.Core()
}
