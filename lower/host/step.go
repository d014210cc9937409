package host

import (
	"fmt"

	"estream/lower"
	"estream/lower/host/kernel"
)

// tokens reports a seq [B+1] that does not part n tokens into sequences.
func tokens(seq []int32, n int) error {
	if len(seq) == 0 || seq[0] != 0 || int(seq[len(seq)-1]) != n {
		return fmt.Errorf("seq is %v, want it to run from 0 to %d, the number of tokens", seq, n)
	}
	for b := range len(seq) - 1 {
		if seq[b] > seq[b+1] {
			return fmt.Errorf("seq[%d] is %d after %d, want it to ascend", b+1, seq[b+1], seq[b])
		}
	}
	return nil
}

// within reports a sequence whose rows are not all among a state's capacity.
func within(seq, past, base []int32, capacity int) error {
	for b := range past {
		n := int(seq[b+1] - seq[b])
		if past[b] < 0 || base[b] < 0 || int(base[b])+int(past[b])+n > capacity {
			return fmt.Errorf("sequence %d: base %d, past %d and %d new rows do not fit the state's %d rows", b, base[b], past[b], n, capacity)
		}
	}
	return nil
}

// A target is where the rows of a step go in a growing state.
type target struct {
	parts []lower.Buffer
	row   []int // of the state, for each token
}

func appendRows(x *Exec) error {
	seq, past, base := x.i32(1), x.i32(2), x.i32(3)
	t := keep[target](x)
	t.parts, t.row = x.In[0].Parts(), t.row[:0]
	defer func() { t.parts = nil }()
	if err := tokens(seq, x.In[4].Type.Dims[0].N); err != nil {
		return err
	}
	cost := 0
	for _, p := range t.parts {
		if err := within(seq, past, base, p.Type.Dims[0].N); err != nil {
			return err
		}
		cost += int(lower.RowBytes(p.Type) / 4)
	}
	for b := range past {
		for i := range int(seq[b+1] - seq[b]) {
			t.row = append(t.row, int(base[b])+int(past[b])+i)
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
			kernel.Encode(span(data, size, t.row[r], t.row[r]+1), span(src, k, r, r+1), p.Type.DType)
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
	return kernel.Window{DType: p.Type.DType, Keep: d[1].N, D: d[2].N, Data: p.Bytes()}, tokens(seq, n)
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
	kernel.Conv(x.out(), x.f32(0), x.f32(1), x.local.(*kernel.Window), x.i32(3), from, to)
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
