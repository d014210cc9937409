package host

import (
	"estream/ir"
	"estream/lower/host/kernel"
)

// A mixing is the loop of an attention: blocks of queries by groups of heads.
type mixing struct {
	kernel.Attention
	spans []ir.Span         // of the step
	seqs  []kernel.Sequence // those with tokens in the step
	rows  int               // tokens of the step
	block int               // of rows, in an item
	words int               // of working memory a thread
}

// attentionOf describes an attention by the types of its operands.
func attentionOf(q, k, v ir.Type, a ir.AttentionAttr) kernel.Attention {
	return kernel.Attention{
		Heads: q.Dims[1].N, Groups: k.Dims[1].N, D: q.Dims[2].N, Dv: v.Last().N,
		Scale: float32(a.Scale), Window: a.Window, DType: k.DType,
	}
}

// attentionSpace is what all threads take together.
func attentionSpace(b *backend, v *ir.Value) int {
	parts := v.Args[1].Type.Parts
	a := attentionOf(v.Args[0].Type, parts[0], parts[1], v.Attr.(ir.AttentionAttr))
	words, _ := b.set.AttendSpace(&a)
	return words * b.threads
}

func attention(x *Exec) error {
	m, q := keep[mixing](x), x.In[0].Type
	parts := x.In[1].Parts()
	k, v := parts[0], parts[1]
	m.rows = q.Dims[0].N
	m.Attention = attentionOf(q, k.Type, v.Type, x.Attr.(ir.AttentionAttr))
	m.words, m.block = x.pool.set.AttendSpace(&m.Attention)
	m.Keys, m.Values = k.Bytes(), v.Bytes()
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
	n := ceil(m.rows, m.block) * m.Groups
	x.pool.spread(x, n, products*m.Heads*(m.D+m.Dv)/64/max(n, 1), attendItem)
	return nil
}

// attendItem takes the last queries, which see the most keys, first.
func attendItem(x *Exec, thread, i int) {
	m := x.local.(*mixing)
	q, dst, share := x.f32(0), x.out(), m.Heads/m.Groups
	var space []float32
	if m.words > 0 {
		space = span(x.f32(7), m.words, thread, thread+1)
	}
	row, g := (ceil(m.rows, m.block)-1-i/m.Groups)*m.block, i%m.Groups
	end := min(row+m.block, m.rows)
	for j, s := range m.seqs {
		last := m.rows
		if j+1 < len(m.seqs) {
			last = m.seqs[j+1].First
		}
		if lo, hi := max(row, s.First), min(end, last); lo < hi {
			x.pool.set.Attend(&m.Attention, dst, q, s, lo-s.First, hi-s.First, g*share, (g+1)*share, space)
		}
	}
}
