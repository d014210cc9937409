package host

import (
	"estream/ir"
	"estream/lower/host/kernel"
)

// queryBlock is how many rows of queries of a head, or of the heads that share
// keys, make one item of attention's loop.
const queryBlock = 64

// A mixing is the loop of an attention: blocks of queries by groups of heads.
type mixing struct {
	kernel.Attention
	spans []ir.Span         // of the step
	seqs  []kernel.Sequence // those with tokens in the step
	rows  int               // tokens of the step
}

func attention(x *Exec) error {
	m, q := keep[mixing](x), x.In[0].Type.Dims
	parts, a := x.In[1].Parts(), x.Attr.(ir.AttentionAttr)
	k, v := parts[0], parts[1]
	m.rows = q[0].N
	m.Attention = kernel.Attention{
		Heads: q[1].N, Groups: k.Type.Dims[1].N, D: q[2].N, Dv: v.Type.Last().N,
		Scale: float32(a.Scale), Window: a.Window, DType: k.Type.DType, Keys: k.Bytes(), Values: v.Bytes(),
	}
	defer func() { m.Keys, m.Values = nil, nil }()
	step := ir.StepData{Pos: x.i32(2), Seq: x.i32(3), Past: x.i32(4), Base: x.i32(5), Parent: x.i32(6)}
	spans, err := step.Spans(m.spans[:0], m.rows, k.Type.Dims[0].N)
	if err != nil {
		return err
	}
	m.spans, m.seqs = spans, m.seqs[:0]
	products := 1 // of queries and keys
	for _, s := range spans {
		if s.From == s.To {
			continue
		}
		m.seqs = append(m.seqs, kernel.Sequence{First: s.From, Pos: s.Prefix + s.Past, Prefix: s.Prefix, Parent: s.First, Base: s.Base})
		products += (s.To - s.From) * (s.Prefix + s.Rows())
	}
	n := ceil(m.rows, queryBlock) * m.Groups
	cost := products * m.Heads * (m.D + m.Dv) / 32
	return x.pool.loop(x, n, cost/max(n, 1), attendItems)
}

// attendItems takes the last queries, which see the most keys, first.
func attendItems(x *Exec, from, to int) error {
	m := x.local.(*mixing)
	q, dst, share := x.f32(0), x.out(), m.Heads/m.Groups
	for i := from; i < to; i++ {
		row, g := (ceil(m.rows, queryBlock)-1-i/m.Groups)*queryBlock, i%m.Groups
		end := min(row+queryBlock, m.rows)
		for j, s := range m.seqs {
			last := m.rows
			if j+1 < len(m.seqs) {
				last = m.seqs[j+1].First
			}
			if lo, hi := max(row, s.First), min(end, last); lo < hi {
				x.pool.set.Attend(&m.Attention, dst, q, s, lo-s.First, hi-s.First, g*share, (g+1)*share)
			}
		}
	}
	return nil
}
