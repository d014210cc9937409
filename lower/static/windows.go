package static

import (
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
)

// findConv finds the input that says where sequences begin, of a graph with a
// window: what passes make of it for tiers.
func (p *program) findConv() error {
	if !p.convs {
		return nil
	}
	in := p.graph.Inputs()
	if parts := in[p.state].Type.Parts; len(parts) != 1 || parts[0].Rank() != 3 {
		return fmt.Errorf("%s of type %s: want a window of one part [B,K-1,D]: %w", in[p.state].Name, in[p.state].Type, lower.ErrUnsupported)
	}
	for _, v := range p.graph.Values {
		if v.Op == ir.Shift {
			if p.step.seq = slices.Index(in, v.Args[1]); p.step.seq < 0 {
				return fmt.Errorf("shift takes %s, which is no input, as the step: %w", v.Args[1], lower.ErrUnsupported)
			}
			return nil
		}
	}
	return fmt.Errorf("nothing is shifted into the window: %w", lower.ErrUnsupported)
}

// runWindows runs a graph with a window over the chunks of each sequence, one
// after another: each sees the window that the one before it left.
func (p *program) runWindows(ctx context.Context, c *lower.Call, dims lower.Dims) error {
	seq := c.In[p.step.seq]
	spans, err := (ir.StepData{Seq: lower.I32(seq.Bytes())[:seq.Type.Dims[0].N]}).Spans(nil, dims[p.rows.Sym], 0)
	if err != nil {
		return err
	}
	all := c.In[p.state].Parts()[0]
	if n := all.Type.Dims[0].N; n != len(spans) {
		return fmt.Errorf("the window is of %d sequences, the step of %d", n, len(spans))
	}
	for b, s := range spans {
		own := windowOf(all, b)
		for from := s.From; from < s.To; {
			to := min(s.To, from+p.largest())
			t := p.pick(to-from, 0, 0)
			if err := t.exec(ctx, p.pickWeights(t, c.Weights), windowFill(c, own, from, to), windowDrain(c, own, from, to)); err != nil {
				return lower.MapRow(err, to-from, func(row int) int { return from + row })
			}
			from = to
		}
	}
	return nil
}

// windowOf returns the rows of sequence b.
func windowOf(all lower.Buffer, b int) lower.Buffer {
	own := all.Rows(b, b+1)
	own.Type.Dims = own.Type.Dims[1:]
	return own
}

func windowFill(c *lower.Call, own lower.Buffer, from, to int) func(slot) {
	return func(s slot) {
		if s.role == state {
			copyRows(s.Buffer, 0, own, 0, own.Type.Dims[0].N)
			return
		}
		fillRows(c, s, from, to)
	}
}

func windowDrain(c *lower.Call, own lower.Buffer, from, to int) func(slot) {
	return func(s slot) {
		if s.role != state {
			drainRows(c, s, from, to)
			return
		}
		keep, n := own.Type.Dims[0].N, to-from
		stay := max(0, keep-n)
		copyRows(own, 0, own, keep-stay, stay)
		copyRows(own, stay, s.Buffer, n-(keep-stay), keep-stay)
	}
}
