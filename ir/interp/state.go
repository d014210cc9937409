package interp

import (
	"fmt"
	"slices"

	"estream/ir"
)

// appendRows writes the step's rows behind each sequence's own.
func appendRows(c *Call) (*Tensor, error) {
	state, rows := c.Args[0], c.Args[4:]
	capacity := state.Parts[0].Type.Dims[0].N
	for _, p := range state.Parts {
		capacity = min(capacity, p.Type.Dims[0].N)
	}
	step := ir.StepData{Seq: c.Args[1].I, Past: c.Args[2].I, Base: c.Args[3].I}
	spans, err := step.Spans(nil, rows[0].Type.Dims[0].N, capacity)
	if err != nil {
		return nil, err
	}
	for i, p := range state.Parts {
		width := len(p.F) / max(p.Type.Dims[0].N, 1)
		for _, s := range spans {
			p.store((s.Base+s.Past)*width, rows[i].F[s.From*width:s.To*width])
		}
	}
	return state, nil
}

// store writes values from element at on, rounded to t's type.
func (t *Tensor) store(at int, values []float32) {
	for i, x := range values {
		t.F[at+i] = round(t.Type.DType, x)
	}
}

// window returns the spans of a step over a window state [B,K-1,D].
func window(state, seq, x *Tensor) (part *Tensor, spans []ir.Span, err error) {
	part = state.Parts[0]
	if spans, err = (ir.StepData{Seq: seq.I}).Spans(nil, x.Type.Dims[0].N, 0); err != nil {
		return nil, nil, err
	}
	if n := part.Type.Dims[0].N; n != len(spans) {
		return nil, nil, fmt.Errorf("the state %s holds %d sequences, the step %d", state.Type, n, len(spans))
	}
	return part, spans, nil
}

// history returns the rows of the window of sequence b and then its rows of x.
func history(part *Tensor, b int, s ir.Span, x *Tensor) []float32 {
	keep, d := part.Type.Dims[1].N, part.Type.Last().N
	return slices.Concat(part.F[b*keep*d:(b+1)*keep*d], x.F[s.From*d:s.To*d])
}

func conv(c *Call) (*Tensor, error) {
	x, taps, out := c.Args[0], c.Args[1], New(c.Type)
	part, spans, err := window(c.Args[2], c.Args[3], x)
	if err != nil {
		return nil, err
	}
	d := taps.Type.Dims[0].N
	for b, s := range spans {
		convolve(out.F[s.From*d:s.To*d], history(part, b, s, x), taps)
	}
	return out, nil
}

func convPast(c *Call) (*Tensor, error) {
	x, taps, past, out := c.Args[0], c.Args[1], c.Args[2], New(c.Type)
	convolve(out.F, slices.Concat(past.F, x.F), taps)
	return out, nil
}

// convolve writes the rows that come of those behind the first K-1.
func convolve(out, rows []float32, taps *Tensor) {
	d, k := taps.Type.Dims[0].N, taps.Type.Dims[1].N
	for i := range out {
		sum := 0.0
		for j := range k {
			sum += float64(rows[i+j*d]) * float64(taps.F[i%d*k+j])
		}
		out[i] = float32(sum)
	}
}

// shift keeps the last rows of each sequence.
func shift(c *Call) (*Tensor, error) {
	part, spans, err := window(c.Args[0], c.Args[1], c.Args[2])
	if err != nil {
		return nil, err
	}
	size := part.Type.Dims[1].N * part.Type.Last().N
	for b, s := range spans {
		rows := history(part, b, s, c.Args[2])
		part.store(b*size, rows[len(rows)-size:])
	}
	return c.Args[0], nil
}
