package static

import (
	"context"
	"fmt"

	"estream/ir"
	"estream/lower"
)

// runRows runs a graph without a state over its rows, a chunk at a time.
func (p *program) runRows(ctx context.Context, c *lower.Call, dims lower.Dims) error {
	for from, n := 0, dims[p.rows.Sym]; from < n; {
		to := min(n, from+p.largest())
		t := p.pick(to-from, 0, dims[ir.P.Sym])
		if t == nil {
			return fmt.Errorf("no tier has %d rows of %d columns", to-from, dims[ir.P.Sym])
		}
		fill := func(s slot) { fillRows(c, s, from, to) }
		drain := func(s slot) { drainRows(c, s, from, to) }
		if err := t.exec(ctx, p.pickWeights(t, c.Weights), fill, drain); err != nil {
			return lower.MapRow(err, to-from, func(row int) int { return from + row })
		}
		from = to
	}
	return nil
}

// fillRows copies rows from to to-1 of an input, then zeros.
func fillRows(c *lower.Call, s slot, from, to int) {
	dst := s.Bytes()
	clear(dst[copy(dst, c.In[s.i].Rows(from, to).Bytes()):])
}

// drainRows copies an output to rows from to to-1.
func drainRows(c *lower.Call, s slot, from, to int) {
	copy(c.Out[s.i].Rows(from, to).Bytes(), s.Bytes())
}

// pickWeights returns the weights that a tier reads, at their exact sizes, of those
// that each body is given.
func (p *program) pickWeights(t *tier, all ...[]lower.Buffer) []lower.Buffer {
	var bs []lower.Buffer
	for _, w := range t.weights {
		b := all[w.body][w.i]
		b.Len = t.sizes[w.i]
		bs = append(bs, b)
	}
	return bs
}
