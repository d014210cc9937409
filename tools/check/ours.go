package check

import (
	"context"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/runtime"
)

// A place is a value of a layer; see runtime.Tap.
type place struct {
	layer int
	name  string
}

// values are what an implementation computed, all rows of the prompt.
type values map[place][]float32

// sum is the value that a pair compares; nil if it was not reached.
func (vs values) sum(p pair) []float32 {
	var sum []float32
	for i, term := range p.terms {
		v := vs[place{p.layer, term}]
		if i == 0 {
			sum = slices.Clone(v)
		}
		if len(v) != len(sum) || len(v) == 0 {
			return nil
		}
		for j := range v[:len(v)*min(i, 1)] {
			sum[j] += v[j]
		}
	}
	return sum
}

// A runner is an open package that notes what pairs compare.
type runner struct {
	*runtime.Model
	values values
}

func newRunner(ctx context.Context, dir string, pairs []pair, o runtime.Options) (*runner, error) {
	r := &runner{values: values{}}
	o.Taps = nil
	for _, p := range pairs {
		o.Taps = append(o.Taps, p.terms...)
	}
	slices.Sort(o.Taps)
	o.Taps = slices.Compact(o.Taps)
	o.Tap = func(t runtime.Tap) {
		at := place{t.Layer, t.Name}
		r.values[at] = append(r.values[at], floats(t.Buffer)...)
	}
	var err error
	r.Model, err = runtime.Open(ctx, dir, o)
	return r, err
}

// run fills in values. After an error there are those that were computed before it.
func (r *runner) run(ctx context.Context, prompts [][]int32) error {
	res, err := r.Run(ctx, runtime.Batch{Prompts: prompts, Logits: runtime.All})
	if err == nil {
		r.values[place{len(r.Module().Layers), "logits"}] = res.Logits
	}
	return err
}

// floats returns the elements of a buffer; nil for types that no golden has.
func floats(b lower.Buffer) []float32 {
	switch b.Type.DType {
	case ir.F32:
		return lower.F32(b.Bytes())
	case ir.I32:
		return whole(lower.I32(b.Bytes()))
	}
	return nil
}

// whole returns ids as floats; those of a golden are far below 1<<24.
func whole(ids []int32) []float32 {
	out := make([]float32, len(ids))
	for i, id := range ids {
		out[i] = float32(id)
	}
	return out
}
