package host

import (
	"fmt"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// A target is where the rows of a step go in a growing state.
type target struct {
	parts []lower.Buffer
	spans []ir.Span
	row   []int // of the state, for each token
}

func appendRows(x *Exec) error {
	step := ir.StepData{Seq: x.i32(1), Past: x.i32(2), Base: x.i32(3)}
	t := keep[target](x)
	t.parts, t.row = x.In[0].Parts(), t.row[:0]
	defer func() { t.parts = nil }()
	cost, capacity := 0, t.parts[0].Type.Dims[0].N
	for _, p := range t.parts {
		cost, capacity = cost+int(lower.RowBytes(p.Type)/4), min(capacity, p.Type.Dims[0].N)
	}
	spans, err := step.Spans(t.spans[:0], x.In[4].Type.Dims[0].N, capacity)
	if err != nil {
		return err
	}
	t.spans = spans
	for _, s := range spans {
		for i := range s.To - s.From {
			t.row = append(t.row, s.Base+s.Past+i)
		}
	}
	return x.pool.loop(x, len(t.row), cost, appendRange)
}

func appendRange(x *Exec, from, to int) error {
	t := x.local.(*target)
	for i, p := range t.parts {
		size, data, src := int(lower.RowBytes(p.Type)), p.Bytes(), x.f32(4+i)
		k := size * 8 / p.Type.DType.Bits()
		for r := from; r < to; r++ {
			x.pool.set.Encode(span(data, size, t.row[r], t.row[r]+1), span(src, k, r, r+1), p.Type.DType)
		}
	}
	return nil
}

// window checks seq and returns the tensor of a window state.
func window(state lower.Buffer, seq []int32, n int) (kernel.Window, error) {
	p := state.Parts()[0]
	d := p.Type.Dims
	if d[0].N != len(seq)-1 {
		return kernel.Window{}, fmt.Errorf("the state %s holds %d sequences, the step %d", state.Type, d[0].N, len(seq)-1)
	}
	return kernel.Window{DType: p.Type.DType, Keep: d[1].N, D: d[2].N, Data: p.Bytes()}, ir.CheckSeq(seq, n)
}

// conv loops over columns.
func conv(x *Exec) (err error) {
	w, n := keep[kernel.Window](x), x.Out.Type.Dims[0].N
	defer func() { w.Data = nil }()
	if *w, err = window(x.In[2], x.i32(3), n); err != nil {
		return err
	}
	return x.pool.loop(x, w.D, n*(w.Keep+1), convColumns)
}

func convColumns(x *Exec, from, to int) error {
	x.pool.set.Conv(x.out(), x.f32(0), x.f32(1), x.local.(*kernel.Window), x.i32(3), from, to)
	return nil
}

// shift is little work: as many rows a sequence as the window has.
func shift(x *Exec) error {
	w, err := window(x.In[0], x.i32(1), x.In[2].Type.Dims[0].N)
	if err != nil {
		return err
	}
	kernel.Shift(&w, x.i32(1), x.f32(2))
	return nil
}
