package check

import (
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// A judge runs the stored graphs on the interpreter, the way the runtime walks
// them, and keeps the values that pairs compare. The runtime has opened the
// package before, and so checked that graphs and records are what a walk needs.
type judge struct {
	*pkg
	table   interp.Table
	wanted  map[string]bool
	values  values
	step    map[string]*interp.Tensor // ids and what else says which tokens there are
	tokens  int
	prompts int
}

// interpret returns what the interpreter computes. After an error there are the
// values that were computed before it.
func (p *pkg) interpret(ctx context.Context, prompts [][]int32, pairs []pair, table interp.Table) (values, error) {
	j := &judge{pkg: p, table: table, wanted: map[string]bool{}, values: values{}, prompts: len(prompts)}
	for _, x := range pairs {
		for _, term := range x.terms {
			j.wanted[term] = true
		}
	}
	j.begin(prompts)
	return j.values, j.run(ctx)
}

// begin makes the step: whole prompts, one after another.
func (j *judge) begin(prompts [][]int32) {
	var ids, pos, past, base, parent []int32
	seq := []int32{0}
	for _, p := range prompts {
		past, base, parent = append(past, 0), append(base, int32(len(ids))), append(parent, -1)
		ids = append(ids, p...)
		for i := range p {
			pos = append(pos, int32(i))
		}
		seq = append(seq, int32(len(ids)))
	}
	j.tokens = len(ids)
	j.step = map[string]*interp.Tensor{}
	for name, v := range map[string][]int32{"ids": ids, "pos": pos, "seq": seq, "past": past, "base": base, "parent": parent} {
		j.step[name] = interp.Ints(v, len(v))
	}
}

func (j *judge) run(ctx context.Context) error {
	x, err := j.embed(ctx)
	if err != nil {
		return fmt.Errorf("embeddings: %w", err)
	}
	for l := range j.module.Layers {
		if x, err = j.layer(ctx, l, x); err != nil {
			return fmt.Errorf("layer %d: %w", l, err)
		}
	}
	if err := j.head(ctx, x); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

// eval adds the outputs of a graph to env, in which its inputs and weights are.
func (j *judge) eval(ctx context.Context, layer int, g *ir.Graph, env map[string]*interp.Tensor) error {
	o := interp.Options{Ops: j.table}
	o.Experts = func(v *ir.Value, e int) (map[string]*interp.Tensor, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return j.expert(layer, v.Attr.(ir.ExpertsAttr).Callee, e)
	}
	o.Tap = func(of *ir.Graph, v *ir.Value, t *interp.Tensor) {
		if of == g && j.wanted[v.Name] && v.Op != ir.Input && v.Op != ir.Weight {
			j.values[place{layer, v.Name}] = append(slices.Clone(t.F), whole(t.I)...)
		}
	}
	out, err := interp.Eval(j.module, g, env, o)
	if err != nil {
		return err
	}
	for i, v := range g.Outputs {
		env[v.Name] = out[i]
	}
	return ctx.Err()
}

// embed evaluates the embeddings on a table of the tokens' rows alone.
func (j *judge) embed(ctx context.Context) (*interp.Tensor, error) {
	g := j.module.Graph(passes.EmbedGraph)
	region, w := j.Manifest.Rows[0], g.Weights()[0]
	data, places := make([]byte, int64(j.tokens)*region.RowBytes), make([]int32, j.tokens)
	for i, id := range j.step["ids"].I {
		if id < 0 || int64(id) >= region.Rows {
			return nil, fmt.Errorf("token %d: id %d is not in the vocabulary of %d", i, id, region.Rows)
		}
		row := data[int64(i)*region.RowBytes:][:region.RowBytes]
		if _, err := j.dense.ReadAt(row, region.Offset+int64(id)*region.RowStride); err != nil {
			return nil, err
		}
		places[i] = int32(i)
	}
	table, err := plain(data, ir.Tensor(w.Type.DType, ir.N(j.tokens), w.Type.Last()), region.Factor)
	if err != nil {
		return nil, err
	}
	env := map[string]*interp.Tensor{"ids": interp.Ints(places, j.tokens), w.Name: table}
	if err := j.eval(ctx, -1, g, env); err != nil {
		return nil, err
	}
	return env[g.Outputs[0].Name], nil
}

// layer evaluates the phases of a layer on x.
func (j *judge) layer(ctx context.Context, l int, x *interp.Tensor) (*interp.Tensor, error) {
	class := j.module.Layers[l]
	env, err := j.weights(j.dense, j.records[class], j.Manifest.Dense[l])
	if err != nil {
		return nil, err
	}
	for name, t := range j.step {
		env[name] = t
	}
	env["x"] = x
	for _, g := range passes.ClassGraphs(j.module, class) {
		if s := g.Value("state"); s != nil && env["state"] == nil {
			t, err := lower.Dims{"S": j.tokens, "B": j.prompts}.Bind(s.Type)
			if err != nil {
				return nil, err
			}
			env["state"] = interp.New(t)
		}
		if err := j.eval(ctx, l, g, env); err != nil {
			return nil, err
		}
	}
	return env["y"], nil
}

// head evaluates the head on all rows of x, one run of columns after another.
func (j *judge) head(ctx context.Context, x *interp.Tensor) error {
	last, norm := len(j.module.Layers), j.module.Graph(passes.HeadNorm)
	dense := j.Manifest.Dense[last:]
	env, err := j.weights(j.dense, j.records[passes.HeadNorm], dense[0])
	if err != nil {
		return err
	}
	env["x"] = x
	if err := j.eval(ctx, last, norm, env); err != nil {
		return err
	}
	vocab := int(j.Manifest.Rows[0].Rows)
	columns := layout.RunColumns(vocab, len(dense)-1, runtime.HeadPanel)
	at, logits := place{last, "logits"}, make([]float32, j.tokens*vocab)
	for i, r := range dense[1:] {
		n := min(columns, vocab-i*columns)
		class, err := j.records[passes.HeadProj].Bind(j.packing, lower.Dims{"P": n})
		if err != nil {
			return err
		}
		weights, err := j.weights(j.dense, class, r)
		if err != nil {
			return err
		}
		for name, w := range weights {
			env[name] = w
		}
		proj := j.module.Graph(passes.HeadProj)
		if err := j.eval(ctx, last, proj, env); err != nil {
			return err
		}
		part := env[proj.Outputs[0].Name].F
		for row := range j.tokens {
			copy(logits[row*vocab+i*columns:], part[row*n:(row+1)*n])
		}
	}
	j.values[at] = logits
	return nil
}
