package static

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"estream/lower"
)

// A step is which inputs of a graph say what its tokens are.
type step struct{ pos, seq, past, base, parent int }

// A sequence is what one sequence of a step holds. Its rows are counted from the
// first of its parent's prefix: row i is row first+i of the state while i is
// less than prefix, and row base+i-prefix after that.
type sequence struct {
	from, to      int // its tokens
	prefix, first int
	past, base    int
	parent        int
}

// A chunk is the part of a sequence that one run takes.
type chunk struct {
	sequence
	from, to int // its tokens
	old, end int // rows old to end-1 stand before it, and are seen
	tier     *tier
}

// runSequences runs a graph with a growing state over the chunks of each
// sequence. Parents come first: a child sees their new rows.
func (p *program) runSequences(ctx context.Context, c *lower.Call, dims lower.Dims) error {
	seqs, err := p.sequences(c, dims)
	if err != nil {
		return err
	}
	var chunks []chunk
	for b, s := range seqs {
		if chunks, err = p.cut(chunks, s); err != nil {
			return fmt.Errorf("sequence %d: %w", b, err)
		}
	}
	slices.SortStableFunc(chunks, func(a, b chunk) int { return cmp.Compare(min(a.parent, 0), min(b.parent, 0)) })
	parts := c.In[p.state].Parts()
	for _, k := range chunks {
		fill := func(s slot) { p.fill(c, s, k, parts) }
		drain := func(s slot) { drain(c, s, k, parts) }
		if err := k.tier.exec(ctx, p.pickWeights(k.tier, c.Weights), fill, drain); err != nil {
			return err
		}
	}
	return nil
}

// sequences reads and checks the step.
func (p *program) sequences(c *lower.Call, dims lower.Dims) ([]sequence, error) {
	in := func(i int) []int32 {
		b := c.In[i]
		return lower.I32(b.Bytes())[:b.Type.Dims[0].N]
	}
	pos, seq, past, base, parent := in(p.step.pos), in(p.step.seq), in(p.step.past), in(p.step.base), in(p.step.parent)
	tokens, capacity := len(pos), c.In[p.state].Type.Parts[0].Dims[0].N
	if len(seq) != len(past)+1 || len(base) != len(past) || len(parent) != len(past) || tokens != dims[p.rows.Sym] {
		return nil, fmt.Errorf("a step of %d positions, %d bounds, %d pasts, %d bases and %d parents", tokens, len(seq), len(past), len(base), len(parent))
	}
	if seq[0] != 0 || int(seq[len(past)]) != tokens || !slices.IsSorted(seq) {
		return nil, fmt.Errorf("seq is %v, want it to ascend from 0 to %d", seq, tokens)
	}
	seqs := make([]sequence, len(past))
	for b := range seqs {
		s := sequence{from: int(seq[b]), to: int(seq[b+1]), past: int(past[b]), base: int(base[b]), parent: int(parent[b])}
		if s.past < 0 || s.base < 0 || s.base+s.past+s.to-s.from > capacity {
			return nil, fmt.Errorf("sequence %d: base %d, past %d and %d new rows do not fit the state's %d rows", b, s.base, s.past, s.to-s.from, capacity)
		}
		seqs[b] = s
	}
	for b := range seqs {
		if err := seqs[b].join(seqs, pos); err != nil {
			return nil, fmt.Errorf("sequence %d: %w", b, err)
		}
	}
	return seqs, nil
}

// join finds what s sees of its parent.
func (s *sequence) join(all []sequence, pos []int32) error {
	if s.parent == -1 || s.from == s.to {
		return nil
	}
	if s.parent < -1 || s.parent >= len(all) || all[s.parent].parent != -1 {
		return fmt.Errorf("parent %d is not a sequence of the step without a parent", s.parent)
	}
	p := all[s.parent]
	s.prefix, s.first = int(pos[s.from])-s.past, p.base
	if rows := p.past + p.to - p.from; s.prefix < 0 || s.prefix > rows {
		return fmt.Errorf("it starts behind %d rows of parent %d, which has %d", s.prefix, s.parent, rows)
	}
	return nil
}

// cut appends the chunks of a sequence.
func (p *program) cut(to []chunk, s sequence) ([]chunk, error) {
	for from := s.from; from < s.to; {
		k := chunk{sequence: s, from: from, to: min(s.to, from+p.largest())}
		k.end = s.prefix + s.past + from - s.from
		if p.window > 0 {
			k.old = max(0, k.end-p.window+1)
		}
		if k.tier = p.pick(k.to-k.from, k.end-k.old); k.tier == nil {
			return nil, fmt.Errorf("%d rows stand before token %d, and the largest tier of S takes %d: give the device a larger tier of S, or make the context shorter",
				k.end-k.old, from-s.from, p.tiers[len(p.tiers)-1].past)
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
		split := max(k.old, min(k.end, k.prefix))
		n := copyRows(s.Buffer, 0, parts[s.i], k.first+k.old, split-k.old)
		n += copyRows(s.Buffer, n, parts[s.i], k.base+split-k.prefix, k.end-split)
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
	at := k.base + k.past + k.from - k.sequence.from
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
