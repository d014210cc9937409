package static

import (
	"context"

	"estream/lower"
)

// runExperts adds the output of each expert of a group to its rows of y.
func (p *program) runExperts(ctx context.Context, c *lower.Call, _ lower.Dims) error {
	for i := range c.Group {
		e := &c.Group[i]
		var weights []lower.Buffer
		for i := range e.Factors {
			weights = append(weights, p.expert.Weight(e, i))
		}
		for rows, w := e.Rows, e.W; len(rows) > 0; {
			n := min(len(rows), p.largest())
			t := p.pick(n, 0)
			fill := func(s slot) { p.gather(c, s, rows[:n], w[:n]) }
			drain := func(s slot) { scatter(c.Out[s.i], s, rows[:n]) }
			if err := t.exec(ctx, p.pickWeights(t, weights), fill, drain); err != nil {
				err = lower.MapRow(err, n, func(row int) int { return int(rows[row]) })
				return &lower.ExpertError{Index: i, Of: len(c.Group), Err: err}
			}
			rows, w = rows[n:], w[n:]
		}
	}
	return nil
}

// gather fills an expert's x with the given rows of x, or its w, then zeros.
func (p *program) gather(c *lower.Call, s slot, rows []int32, w []float32) {
	dst := s.Bytes()
	if s.i == p.expert.W {
		f := lower.F32(dst)
		clear(f[copy(f, w):])
		return
	}
	x := c.In[s.i].Bytes()
	row := int64(len(dst) / s.Type.Dims[0].N)
	for _, r := range rows {
		dst = dst[copy(dst, x[int64(r)*row:][:row]):]
	}
	clear(dst)
}

// scatter adds the first rows of s to the given rows of y, in order.
func scatter(y lower.Buffer, s slot, rows []int32) {
	from, to := lower.F32(s.Bytes()), lower.F32(y.Bytes())
	k := s.Type.Last().N
	for i, r := range rows {
		for j := range k {
			to[int(r)*k+j] += from[i*k+j]
		}
	}
}
