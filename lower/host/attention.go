package host

import (
	"fmt"

	"estream/ir"
	"estream/lower/host/kernel"
)

// queryBlock is how many rows of queries of a head, or of the heads that share
// keys, make one item of attention's loop.
const queryBlock = 64

// A mixing is the loop of an attention: blocks of queries by groups of heads.
type mixing struct {
	kernel.Attention
	seqs []kernel.Sequence // those with tokens in the step
	rows int               // tokens of the step
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
	seq, past, base := x.i32(3), x.i32(4), x.i32(5)
	if err := tokens(seq, m.rows); err != nil {
		return err
	}
	if err := within(seq, past, base, k.Type.Dims[0].N); err != nil {
		return err
	}
	m.seqs = m.seqs[:0]
	products := 1 // of queries and keys
	for b := range past {
		n := int(seq[b+1] - seq[b])
		if n == 0 {
			continue
		}
		s := kernel.Sequence{First: int(seq[b]), Pos: int(past[b]), Base: int(base[b])}
		if err := m.inherit(x, &s, b); err != nil {
			return fmt.Errorf("sequence %d: %w", b, err)
		}
		products += n * (s.Pos + n)
		m.seqs = append(m.seqs, s)
	}
	n := ceil(m.rows, queryBlock) * m.Groups
	cost := products * m.Heads * (m.D + m.Dv) / 32
	return x.pool.loop(x, n, cost/max(n, 1), attendItems)
}

// inherit puts the rows of b's parent that it sees before its own.
func (m *mixing) inherit(x *Exec, s *kernel.Sequence, b int) error {
	pos, seq, past, base, parents := x.i32(2), x.i32(3), x.i32(4), x.i32(5), x.i32(6)
	p := int(parents[b])
	if p == -1 {
		return nil
	}
	if p < 0 || p >= len(parents) || parents[p] != -1 {
		return fmt.Errorf("parent %d is not a sequence of the step without a parent", p)
	}
	held := int(past[p]) + int(seq[p+1]-seq[p])
	s.Prefix, s.Parent = int(pos[s.First])-s.Pos, int(base[p])
	if s.Prefix < 0 || s.Prefix > held {
		return fmt.Errorf("it starts behind %d rows of parent %d, which has %d", s.Prefix, p, held)
	}
	s.Pos += s.Prefix
	return nil
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
				m.Run(dst, q, s, lo-s.First, hi-s.First, g*share, (g+1)*share)
			}
		}
	}
	return nil
}
