package runtime

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"estream/pager"
	"estream/pager/layout"
)

// TableReaders is how many blocks of the embedding table are read at a time: small
// reads that wait for the disk rather than for its rate, whatever Options.Readers.
const TableReaders = 4

// A table reads rows of the embedding region, by checksummed blocks.
type table struct {
	r     *run
	mem   []byte // a place for each reader's block, and one for the last
	slot  int64
	last  int // the block in the last place; -1: none
	parts []part
}

// A part is what of a row lies in one block.
type part struct {
	block int
	from  int64 // in the block
	dst   []byte
}

// newTable reads in memory that blocks may be read to, of as many bytes as embedBytes has for it.
func newTable(r *run, mem []byte) *table {
	return &table{r: r, mem: mem, slot: r.m.tableSlot(), last: -1}
}

// tableSlot is the memory that a block is read to.
func (m *Model) tableSlot() int64 {
	align := m.dense.Align()
	return (layout.BlockSize + align - 1) / align * align
}

// read copies the rows of ids, which ascend, to mem, one after another. Each block
// is read once, whatever the calls, as long as ids go on ascending.
func (t *table) read(ids []int32, mem []byte) error {
	if err := t.split(ids, mem); err != nil {
		return err
	}
	if len(t.parts) == 0 {
		return nil
	}
	left, final, end := t.parts, t.parts[len(t.parts)-1].block, []byte(nil)
	var mu sync.Mutex
	next := func() []part { // those of the next block
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for n < len(left) && left[n].block == left[0].block {
			n++
		}
		some := left[:n]
		left = left[n:]
		return some
	}
	g, ctx := errgroup.WithContext(t.r.ctx)
	for i := range int64(TableReaders) {
		g.Go(func() error {
			for some := next(); len(some) > 0; some = next() {
				block, err := t.block(ctx, some[0].block, t.place(i))
				if err != nil {
					return err
				}
				for _, p := range some {
					copy(p.dst, block[p.from:])
				}
				if some[0].block == final { // the one to go on from, in which no other is read
					end = block
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t.last = final
	copy(t.place(TableReaders), end)
	return nil
}

func (t *table) place(i int64) []byte { return t.mem[i*t.slot:][:t.slot] }

// split lists the parts of rows by block.
func (t *table) split(ids []int32, mem []byte) error {
	region := t.r.m.region
	t.parts = t.parts[:0]
	for i, id := range ids {
		if int64(id) >= region.Rows {
			return fmt.Errorf("row %d lies past the table's end", id)
		}
		at, dst := int64(id)*region.RowStride, mem[int64(i)*region.RowBytes:][:region.RowBytes]
		for len(dst) > 0 {
			from := at % layout.BlockSize
			n := min(int64(len(dst)), layout.BlockSize-from)
			t.parts = append(t.parts, part{int(at / layout.BlockSize), from, dst[:n]})
			dst, at = dst[n:], at+n
		}
	}
	return nil
}

// block returns a block, read to mem unless it is in memory, and compared with its checksum.
func (t *table) block(ctx context.Context, i int, mem []byte) ([]byte, error) {
	m := t.r.m
	off, n := m.region.Block(i)
	kept := m.pins.table
	switch {
	case kept != nil && kept.loaded[i]:
		return kept.mem.Bytes()[off-m.region.Offset:][:n], nil
	case i == t.last:
		return t.place(TableReaders)[:n], nil
	}
	rec := pager.Record{Off: off, Len: n, CRC: m.region.Blocks[i], Name: fmt.Sprintf("table %s, block %d", m.region.Name, i)}
	if err := t.r.pass.Fetch(ctx, rec, mem); err != nil {
		return nil, err
	}
	if kept != nil {
		copy(kept.mem.Bytes()[off-m.region.Offset:], mem[:n])
		kept.loaded[i] = true
	}
	return mem[:n], nil
}
