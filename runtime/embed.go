package runtime

import (
	"cmp"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager"
	"estream/pager/layout"
)

// embed fills the residual stream: tokens are taken in order of their ids, a
// chunk at a time, so that each block of the table is read once. The graph's
// table is the chunk's distinct rows, its ids places in them.
func (r *run) embed() error {
	m, chunk := r.m, r.plan.Chunk
	order := make([]int32, len(r.ids))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(r.ids[a], r.ids[b]), cmp.Compare(a, b)) })
	mem, err := m.mem.get(m.host, "embeddings", int64(chunk)*(int64(m.region.RowBytes)+4*int64(m.hidden))+lower.Align, lower.Align)
	if err != nil {
		return err
	}
	table, err := newTable(r)
	if err != nil {
		return err
	}
	for len(order) > 0 {
		n := min(chunk, len(order))
		if err := r.embedChunk(mem, table, order[:n]); err != nil {
			return err
		}
		order = order[n:]
	}
	r.tap(-1, map[string]lower.Buffer{"embed": r.x})
	return nil
}

func (r *run) embedChunk(mem lower.Mem, t *table, tokens []int32) error {
	m := r.m
	ids, unique := make([]int32, len(tokens)), 0
	for i, tok := range tokens {
		if i == 0 || r.ids[tok] != r.ids[tokens[i-1]] {
			row := mem.Bytes()[int64(unique)*int64(m.region.RowBytes):][:m.region.RowBytes]
			if err := t.row(int64(r.ids[tok]), row); err != nil {
				return err
			}
			unique++
		}
		ids[i] = int32(unique - 1)
	}
	w := m.embed.graph.Weights()[0].Type
	w.Dims = []ir.Dim{ir.N(unique), ir.N(m.hidden)}
	at := lower.RoundUp(int64(r.plan.Chunk)*int64(m.region.RowBytes), lower.Align)
	outType := ir.Tensor(ir.F32, ir.N(len(tokens)), ir.N(m.hidden))
	out := lower.Buffer{Mem: mem, Off: at, Len: lower.Size(outType), Type: outType}
	weights := []lower.Buffer{{Mem: mem, Len: int64(unique) * int64(m.region.RowBytes), Type: w, Factor: m.region.Factor}}
	env := map[string]lower.Buffer{"ids": int32s(ids), m.embed.graph.Outputs[0].Name: out}
	if err := r.call(m.embed, weights, env); err != nil {
		return err
	}
	for i, tok := range tokens {
		copy(r.x.Rows(int(tok), int(tok)+1).Bytes(), out.Rows(i, i+1).Bytes())
	}
	return nil
}

// A table reads rows of the embedding region through one block of memory.
type table struct {
	r     *run
	last  int64  // the row that was read last; -1: none
	kept  []byte // where it still stands
	block int    // the block in memory; -1: none
	bytes []byte
	mem   lower.Mem
}

func newTable(r *run) (*table, error) {
	mem, err := r.m.mem.get(r.m.host, "embedding block", layout.BlockSize+r.m.pkg.Manifest.Align, r.m.pkg.Manifest.Align)
	return &table{r: r, last: -1, block: -1, mem: mem}, err
}

// row copies one row to dst, which stays as it is until the next call; rows may
// stand across two blocks.
func (t *table) row(row int64, dst []byte) error {
	if row == t.last {
		copy(dst, t.kept)
		return nil
	}
	t.last, t.kept = row, dst
	at := row * int64(t.r.m.region.RowStride)
	for len(dst) > 0 {
		if err := t.load(int(at / layout.BlockSize)); err != nil {
			return err
		}
		n := copy(dst, t.bytes[at%layout.BlockSize:])
		if n == 0 {
			return fmt.Errorf("row %d lies past the table's end", row)
		}
		dst, at = dst[n:], at+int64(n)
	}
	return nil
}

// load reads a block and compares it with its checksum.
func (t *table) load(i int) error {
	if i == t.block {
		return nil
	}
	m := t.r.m
	off, n := m.region.Block(i)
	mem, kept := t.mem.Bytes(), m.pins.table
	if kept != nil {
		mem = kept.mem.Bytes()[off-m.region.Offset:]
	}
	if kept != nil && kept.loaded[i] {
		t.block, t.bytes = i, mem[:n]
		return nil
	}
	rec := pager.Record{Off: off, Len: n, CRC: m.region.Blocks[i], Name: fmt.Sprintf("table %s, block %d", m.region.Name, i)}
	t.block = -1
	if err := t.r.pass.Fetch(t.r.ctx, rec, mem); err != nil {
		return err
	}
	if t.block, t.bytes = i, mem[:n]; kept != nil {
		kept.loaded[i] = true
	}
	return nil
}
