package static

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
)

// A step is which inputs of a graph say what its tokens are.
type step struct{ pos, seq, past, base, parent int }

// A chunk is the part of a sequence that one run takes. Rows of the sequence are
// counted from the first of its parent's prefix.
type chunk struct {
	ir.Span
	from, to int // its tokens
	old, end int // rows old to end-1 stand before it, and are seen
	tier     *tier
}

// runSequences runs a graph with a growing state over the chunks of each
// sequence. Parents come first: a child sees their new rows.
func (p *program) runSequences(ctx context.Context, c *lower.Call, dims lower.Dims) error {
	spans, err := p.spans(c, dims[p.rows.Sym])
	if err != nil {
		return err
	}
	var chunks []chunk
	for b, s := range spans {
		if chunks, err = p.cut(chunks, s); err != nil {
			return fmt.Errorf("sequence %d: %w", b, err)
		}
	}
	slices.SortStableFunc(chunks, func(a, b chunk) int { return cmp.Compare(min(a.Parent, 0), min(b.Parent, 0)) })
	parts := c.In[p.state].Parts()
	for _, k := range chunks {
		fill := func(s slot) { p.fill(c, s, k, parts) }
		drain := func(s slot) { drain(c, s, k, parts) }
		if err := k.tier.exec(ctx, p.pickWeights(k.tier, c.Weights), fill, drain); err != nil {
			return lower.MapRow(err, k.to-k.from, func(row int) int { return k.from + row })
		}
	}
	return nil
}

// spans reads and checks the step.
func (p *program) spans(c *lower.Call, tokens int) ([]ir.Span, error) {
	in := func(i int) []int32 {
		b := c.In[i]
		return lower.I32(b.Bytes())[:b.Type.Dims[0].N]
	}
	d := ir.StepData{Pos: in(p.step.pos), Seq: in(p.step.seq), Past: in(p.step.past), Base: in(p.step.base), Parent: in(p.step.parent)}
	return d.Spans(nil, tokens, c.In[p.state].Type.Parts[0].Dims[0].N)
}

// cut appends the chunks of a sequence.
func (p *program) cut(to []chunk, s ir.Span) ([]chunk, error) {
	for from := s.From; from < s.To; {
		k := chunk{Span: s, from: from, to: min(s.To, from+p.largest())}
		k.end = s.Prefix + s.Past + from - s.From
		if p.window > 0 {
			k.old = max(0, k.end-p.window+1)
		}
		if k.tier = p.pick(k.to-k.from, k.end-k.old, 0); k.tier == nil {
			return nil, fmt.Errorf("%d rows stand before token %d, and the largest tier of S takes %d: give the device a larger tier of S, or make the context shorter",
				k.end-k.old, from-s.From, p.tiers[len(p.tiers)-1].past)
		}
		to, from = append(to, k), k.to
	}
	return to, nil
}

// fill writes one input of a chunk's run.
func (p *program) fill(c *lower.Call, s slot, k chunk, parts []lower.Buffer) {
	switch s.role {
	case mask:
		p.fillMask(s, k)
	case state:
		split := max(k.old, min(k.end, k.Prefix))
		n := copyRows(s.Buffer, 0, parts[s.i], k.First+k.old, split-k.old)
		n += copyRows(s.Buffer, n, parts[s.i], k.Base+split-k.Prefix, k.end-split)
		clear(s.Rows(n, s.Type.Dims[0].N).Bytes())
	default:
		fillRows(c, s, k.from, k.to)
	}
}

// drain takes one output of a chunk's run.
func drain(c *lower.Call, s slot, k chunk, parts []lower.Buffer) {
	if s.role != state {
		drainRows(c, s, k.from, k.to)
		return
	}
	at := k.Base + k.Past + k.from - k.From
	copyRows(parts[s.i], at, s.Buffer, 0, k.to-k.from)
}

// maskedOut is added to the score of a key that a query does not see. It is
// finite, so that a device without infinities has it, and half precision holds
// it; any share of such a key is zero in float32.
const maskedOut = -30000

// fillMask says what each query of a chunk sees: past rows and new ones up to
// itself, within the window. A padded query sees itself.
func (p *program) fillMask(s slot, k chunk) {
	m, n, past := lower.F32(s.Bytes()), k.to-k.from, k.end-k.old
	cols := s.Type.Last().N
	for q := range k.tier.rows {
		row := m[q*cols : (q+1)*cols]
		for i := range row {
			row[i] = maskedOut
		}
		if q >= n {
			row[k.tier.past+q] = 0
			continue
		}
		from := 0 // of the rows before the chunk, then of its own
		if p.window > 0 {
			from = past + q + 1 - p.window
		}
		clear(row[max(0, min(from, past)):past])
		clear(row[k.tier.past+max(0, from-past) : k.tier.past+q+1])
	}
}
