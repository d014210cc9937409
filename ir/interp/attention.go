package interp

import (
	"fmt"
	"math"
	"slices"

	"estream/ir"
)

// attention lets each token attend to the rows of its sequence, the parent's
// prefix first, up to itself.
func attention(c *Call) (*Tensor, error) {
	a, q, state := c.Value.Attr.(ir.AttentionAttr), c.Args[0], c.Args[1]
	step := ir.StepData{Pos: c.Args[2].I, Seq: c.Args[3].I, Past: c.Args[4].I, Base: c.Args[5].I, Parent: c.Args[6].I}
	spans, err := step.Spans(nil, q.Type.Dims[0].N, state.Parts[0].Type.Dims[0].N)
	if err != nil {
		return nil, err
	}
	m := mixer{q: q, k: state.Parts[0], v: state.Parts[1], out: New(c.Type), scale: a.Scale}
	for _, s := range spans {
		for t := s.From; t < s.To; t++ {
			at, from := s.Prefix+s.Past+t-s.From, 0
			if a.Window > 0 {
				from = max(0, at+1-a.Window)
			}
			var rows []int
			for j := from; j <= at; j++ {
				if j < s.Prefix {
					rows = append(rows, s.First+j)
				} else {
					rows = append(rows, s.Base+j-s.Prefix)
				}
			}
			m.token(t, rows, nil)
		}
	}
	return m.out, nil
}

// attentionMasked attends to past and new rows alike, as the mask says, which
// also holds what a window hides. A key at -Inf is not read.
func attentionMasked(c *Call) (*Tensor, error) {
	a, q, mask := c.Value.Attr.(ir.AttentionAttr), c.Args[0], c.Args[5]
	m := mixer{q: q, k: stack(c.Args[1], c.Args[3]), v: stack(c.Args[2], c.Args[4]), out: New(c.Type), scale: a.Scale}
	keys := m.k.Type.Dims[0].N
	if n := mask.Type.Last().N; n != keys {
		return nil, fmt.Errorf("the mask %s has %d columns for %d keys", mask.Type, n, keys)
	}
	for t := range q.Type.Dims[0].N {
		row := mask.F[t*keys : (t+1)*keys]
		var rows []int
		for j, e := range row {
			if !math.IsInf(float64(e), -1) {
				rows = append(rows, j)
			}
		}
		m.token(t, rows, row)
	}
	return m.out, nil
}

// stack returns the rows of x, then those of y.
func stack(x, y *Tensor) *Tensor {
	t := x.Type
	t.Dims = slices.Clone(t.Dims)
	t.Dims[0].N += y.Type.Dims[0].N
	return &Tensor{Type: t, F: slices.Concat(x.F, y.F)}
}

// A mixer mixes values v [S,G,Dv] by how keys k [S,G,D] meet queries q [T,H,D].
type mixer struct {
	q, k, v, out *Tensor
	scale        float64
}

// token attends from token t to the given rows; bias, if any, is added to the
// score of each row. A token that sees no row gets zeros.
func (m mixer) token(t int, rows []int, bias []float32) {
	heads, groups := m.q.Type.Dims[1].N, m.k.Type.Dims[1].N
	for h := range heads {
		g := h / (heads / groups)
		q, p := m.q.head(t, h), make([]float64, len(rows))
		for i, row := range rows {
			for l, e := range m.k.head(row, g) {
				p[i] += float64(q[l]) * float64(e)
			}
			p[i] *= m.scale
			if bias != nil {
				p[i] += float64(bias[row])
			}
		}
		sum := make([]float64, m.v.Type.Last().N)
		for i, w := range normalize(p) {
			for l, e := range m.v.head(rows[i], g) {
				sum[l] += w * float64(e)
			}
		}
		for l, e := range sum {
			m.out.head(t, h)[l] = float32(e)
		}
	}
}

// head returns the vector of head h in row i of t [rows,heads,D].
func (t *Tensor) head(i, h int) []float32 {
	heads, d := t.Type.Dims[1].N, t.Type.Dims[2].N
	return t.F[(i*heads+h)*d : (i*heads+h+1)*d]
}
