package runtime

import (
	"cmp"
	"slices"

	"estream/ir"
	"estream/lower"
)

// embed fills the residual stream: tokens are taken in order of their ids, a chunk
// of distinct ids at a time, so that each block of the table is read once. The
// graph's table is the chunk's rows, its ids their places.
func (r *run) embed() error {
	m := r.m
	order := make([]int32, len(r.ids))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(r.ids[a], r.ids[b]), cmp.Compare(a, b)) })
	table := newTable(r, r.frame.Bytes()[m.gatheredBytes(r.plan.Chunk):])
	ids := make([]int32, 0, r.plan.Chunk)
	for len(order) > 0 {
		n := 0
		for ids = ids[:0]; n < len(order); n++ {
			if id := r.ids[order[n]]; len(ids) == 0 || id != ids[len(ids)-1] {
				if len(ids) == cap(ids) {
					break
				}
				ids = append(ids, id)
			}
		}
		if err := r.embedChunk(r.frame, table, ids, order[:n]); err != nil {
			return err
		}
		order = order[n:]
	}
	r.tap(-1, map[string]lower.Buffer{"embed": r.x})
	return nil
}

// embedChunk fills the rows of the residual stream of tokens, whose ids are those given.
func (r *run) embedChunk(mem lower.Mem, table *table, ids, tokens []int32) error {
	m := r.m
	if err := table.read(ids, mem.Bytes()); err != nil {
		return err
	}
	w := m.embed.graph.Weights()[0].Type
	w.Dims = []ir.Dim{ir.N(len(ids)), ir.N(m.hidden)}
	at := lower.RoundUp(int64(r.plan.Chunk)*int64(m.region.RowBytes), lower.Align)
	outType := ir.Tensor(ir.F32, ir.N(len(ids)), ir.N(m.hidden))
	out := lower.Buffer{Mem: mem, Off: at, Len: lower.Size(outType), Type: outType}
	weights := []lower.Buffer{{Mem: mem, Len: int64(len(ids)) * int64(m.region.RowBytes), Type: w, Factor: m.region.Factor}}
	places := make([]int32, len(ids))
	for i := range places {
		places[i] = int32(i)
	}
	env := map[string]lower.Buffer{"ids": int32s(places), m.embed.graph.Outputs[0].Name: out}
	if err := r.call(m.embed, weights, env); err != nil {
		return err
	}
	i, row, x, y := 0, 4*m.hidden, r.x.Bytes(), out.Bytes()
	for _, tok := range tokens {
		for ids[i] != r.ids[tok] {
			i++
		}
		copy(x[int(tok)*row:][:row], y[i*row:])
	}
	return nil
}
