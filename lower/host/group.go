package host

import (
	"context"
	"fmt"
	"maps"

	"estream/ir"
	"estream/lower"
)

// A group runs the experts of a call, in order, their rows in pieces so that the
// workspace is bounded. Fused or op by op, and however the rows are cut, y gets
// the same bits.
type group struct {
	*lower.ExpertGraph
	p     *program
	fused *gatedRun // nil: op by op
}

const (
	groupBytes = 16 << 20 // of workspace that a group's rows may take, if leastRows take less
	leastRows  = 64
)

// expert finds out whether the graph is an expert, and if so how groups of it run.
func (k *compiler) expert() error {
	x, err := lower.ExpertOf(k.graph, k.c.packing)
	if x == nil {
		return err
	}
	k.group = &group{ExpertGraph: x, p: k.program}
	for _, in := range k.code {
		t := in.Out.Type
		in.routed = t.Rank() > 0 && t.Dims[0] == ir.Dim{Sym: x.R}
	}
	if k.c.backend.fuse && !k.c.foreign() {
		if m := matchGated(k.graph); m != nil {
			k.group.fused = newGatedRun(m, k.c.pool)
		}
	}
	return nil
}

// wanted reports whether c is a group call.
func (g *group) wanted(c *lower.Call) bool {
	return len(c.Group) > 0 || len(c.Weights) == 0 && len(c.In) == len(g.p.inputs) && c.In[g.Rows].Mem == nil && c.In[g.W].Mem == nil
}

// room returns how many rows are worked on at once in a call of the given number,
// and the bytes of workspace that takes, more for more rows. It may set the extent of
// rows in dims.
func (g *group) room(dims lower.Dims, total int) (rows int, bytes int64, err error) {
	fixed := int64(0) // whatever the rows
	if g.fused != nil {
		fixed = g.fused.bytes(0)
	}
	for rows = g.p.c.backend.rowCap; ; rows = max(rows/2, leastRows) {
		bytes, err = g.bytes(dims, rows)
		if err != nil || bytes-fixed <= groupBytes || rows <= leastRows {
			break
		}
	}
	if err == nil && total < rows {
		rows = total
		bytes, err = g.bytes(dims, rows)
	}
	return rows, bytes, err
}

func (g *group) bytes(dims lower.Dims, rows int) (int64, error) {
	if g.fused != nil {
		return g.fused.bytes(rows), nil
	}
	dims[g.R] = rows
	offsets, err := g.p.layout(dims)
	if err != nil {
		return 0, err
	}
	return offsets[len(g.p.slots)] + 2*lower.RoundUp(4*int64(rows), lower.Align), nil
}

func (g *group) footprint(dims lower.Dims) (int64, error) {
	total, ok := dims[g.R]
	if !ok {
		total = g.p.c.backend.rowCap
	}
	own := lower.Dims{}
	maps.Copy(own, dims)
	_, n, err := g.room(own, total)
	return n, err
}

// run runs a group call whose inputs and outputs are bound.
func (g *group) run(ctx context.Context, c *lower.Call) error {
	if !lower.SameMemory(c.In[g.Y], c.Out[0]) {
		return fmt.Errorf("output %s is written in place, and its buffer is not that of input y", g.p.outputs[0].name)
	}
	total, have := 0, min(g.p.at[g.X].Type.Dims[0].N, g.p.at[g.Y].Type.Dims[0].N)
	for i := range c.Group {
		if err := g.Check(&c.Group[i], have); err != nil {
			return &lower.ExpertError{Index: i, Of: len(c.Group), Err: err}
		}
		total += len(c.Group[i].Rows)
	}
	if total == 0 {
		return nil
	}
	rows, bytes, err := g.room(g.p.dims, total)
	if err != nil {
		return err
	}
	if g.fused != nil {
		space, err := g.p.c.workspace(bytes)
		if err != nil {
			return err
		}
		return g.fused.run(ctx, g, c.Group, space.bytes, rows)
	}
	return g.opByOp(ctx, c.Group, rows, bytes)
}

// opByOp runs the instructions for each expert's rows, at most the given number at once.
func (g *group) opByOp(ctx context.Context, experts []lower.Expert, most int, bytes int64) error {
	p := g.p
	space, err := p.c.workspace(bytes)
	if err != nil {
		return err
	}
	p.dims[g.R] = most
	if err := p.prepare(); err != nil {
		return err
	}
	half := lower.RoundUp(4*int64(most), lower.Align)
	for i := range experts {
		e := &experts[i]
		for j := range p.weights {
			p.at[len(p.inputs)+j] = g.Weight(e, j)
		}
		for from := 0; from < len(e.Rows); from += most {
			n := min(most, len(e.Rows)-from)
			p.at[g.Rows] = lower.Buffer{Mem: space, Off: bytes - 2*half, Len: 4 * int64(n)}
			p.at[g.W] = lower.Buffer{Mem: space, Off: bytes - half, Len: 4 * int64(n)}
			copy(lower.I32(p.at[g.Rows].Bytes()), e.Rows[from:])
			copy(lower.F32(p.at[g.W].Bytes()), e.W[from:])
			p.dims[g.R] = n
			if err := p.set(p.dims); err != nil {
				return err
			}
			if err := p.execute(ctx, e.Rows[from:from+n]); err != nil {
				return &lower.ExpertError{Index: i, Of: len(experts), Err: err}
			}
		}
	}
	return nil
}
