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
	p             *program
	x, rows, w, y int       // inputs
	sym           string    // the extent of rows and w
	fused         *gatedRun // nil: op by op
}

const (
	groupBytes = 16 << 20 // of workspace that a group's rows may take, if leastRows take less
	leastRows  = 64
)

// expert finds out whether the graph is an expert, and if so how groups of it run.
func (k *compiler) expert() error {
	g := &group{p: k.program}
	inputs := map[string]*int{"x": &g.x, "rows": &g.rows, "w": &g.w, "y": &g.y}
	in := k.graph.Inputs()
	found := 0
	for i, v := range in {
		if at := inputs[v.Name]; at != nil {
			*at = i
			found++
		}
	}
	if found != len(inputs) || len(k.graph.Outputs) != 1 || k.root[k.graph.Outputs[0]] != in[g.y] {
		return nil
	}
	rows := in[g.rows].Type
	if rows.Rank() != 1 || rows.DType != ir.I32 || rows.Dims[0].Sym == "" || rows.Dims[0].N != 0 || !in[g.w].Type.Equal(rows.WithDType(ir.F32)) {
		return nil
	}
	g.sym = rows.Dims[0].Sym
	for i := range k.weights {
		w := &k.weights[i]
		n, err := w.size(w.want)
		if err != nil {
			return fmt.Errorf("weight %s of an expert: %w", w.name, err)
		}
		if w.bytes = n; w.offset < 0 || w.offset%lower.Align != 0 {
			return fmt.Errorf("weight %s of an expert: offset %d is no multiple of %d", w.name, w.offset, lower.Align)
		}
	}
	if k.group = g; k.c.backend.fuse && !k.c.foreign() {
		if m := matchGated(k.graph); m != nil {
			g.fused = newGatedRun(m, &k.c.pool)
		}
	}
	return nil
}

// wanted reports whether c is a group call.
func (g *group) wanted(c *lower.Call) bool {
	return len(c.Group) > 0 || len(c.Weights) == 0 && len(c.In) == len(g.p.inputs) && c.In[g.rows].Mem == nil && c.In[g.w].Mem == nil
}

// routed reports whether the experts of a call give input i.
func (g *group) routed(i int) bool { return i == g.rows || i == g.w }

// room returns how many rows are worked on at once in a call of the given number,
// and the bytes of workspace that takes. It may set the extent of rows in dims.
func (g *group) room(dims lower.Dims, total int) (rows int, bytes int64, err error) {
	for rows = min(total, g.p.c.backend.rowCap); ; rows = max(rows/2, leastRows) {
		bytes, err = g.bytes(dims, rows)
		if err != nil || bytes <= groupBytes || rows <= leastRows {
			return rows, bytes, err
		}
	}
}

func (g *group) bytes(dims lower.Dims, rows int) (int64, error) {
	if g.fused != nil {
		return g.fused.bytes(rows), nil
	}
	dims[g.sym] = rows
	offsets, err := g.p.layout(dims)
	if err != nil {
		return 0, err
	}
	return offsets[len(g.p.slots)] + 2*lower.RoundUp(4*int64(rows), lower.Align), nil
}

func (g *group) footprint(dims lower.Dims) (int64, error) {
	total, ok := dims[g.sym]
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
	if !sameMemory(c.In[g.y], c.Out[0]) {
		return fmt.Errorf("output %s is written in place, and its buffer is not that of input y", g.p.outputs[0].name)
	}
	total := 0
	for i := range c.Group {
		if err := g.check(&c.Group[i]); err != nil {
			return fmt.Errorf("expert %d of %d: %w", i, len(c.Group), err)
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

// check reports what makes an expert unfit for a call whose inputs are bound.
func (g *group) check(e *lower.Expert) error {
	p := g.p
	if len(e.Rows) != len(e.W) || len(e.Factors) != len(p.weights) {
		return fmt.Errorf("%d rows, %d weights of rows and %d factors, want as many weights as rows and %d factors", len(e.Rows), len(e.W), len(e.Factors), len(p.weights))
	}
	have := min(p.at[g.x].Type.Dims[0].N, p.at[g.y].Type.Dims[0].N)
	last := int32(-1)
	for i, r := range e.Rows {
		if r <= last || int(r) >= have {
			return fmt.Errorf("rows[%d] is %d after %d, want rows to ascend below %d", i, r, last, have)
		}
		last = r
	}
	if len(e.Rows) == 0 {
		return nil
	}
	if err := checkBuffer(e.Record); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for i, w := range p.weights {
		if w.offset+w.bytes > e.Record.Len {
			return fmt.Errorf("weight %s: its %d bytes at %d are not within the record's %d", w.name, w.bytes, w.offset, e.Record.Len)
		}
		if !w.want.DType.Encoded() {
			continue
		}
		if err := checkFactor(e.Factors[i]); err != nil {
			return fmt.Errorf("weight %s: %w", w.name, err)
		}
	}
	return nil
}

// weight is where weight i of the graph lies in an expert's record.
func (g *group) weight(e *lower.Expert, i int) lower.Buffer {
	w := &g.p.weights[i]
	return lower.Buffer{Mem: e.Record.Mem, Off: e.Record.Off + w.offset, Len: w.bytes, Type: w.want, Factor: e.Factors[i]}
}

// opByOp runs the instructions for each expert's rows, at most the given number at once.
func (g *group) opByOp(ctx context.Context, experts []lower.Expert, most int, bytes int64) error {
	p := g.p
	space, err := p.c.workspace(bytes)
	if err != nil {
		return err
	}
	p.dims[g.sym] = most
	if err := p.prepare(); err != nil {
		return err
	}
	half := lower.RoundUp(4*int64(most), lower.Align)
	for i := range experts {
		e := &experts[i]
		for j := range p.weights {
			p.at[len(p.inputs)+j] = g.weight(e, j)
		}
		for from := 0; from < len(e.Rows); from += most {
			n := min(most, len(e.Rows)-from)
			p.at[g.rows] = lower.Buffer{Mem: space, Off: bytes - 2*half, Len: 4 * int64(n)}
			p.at[g.w] = lower.Buffer{Mem: space, Off: bytes - half, Len: 4 * int64(n)}
			copy(lower.I32(p.at[g.rows].Bytes()), e.Rows[from:])
			copy(lower.F32(p.at[g.w].Bytes()), e.W[from:])
			p.dims[g.sym] = n
			if err := p.set(p.dims); err != nil {
				return err
			}
			if err := p.execute(ctx); err != nil {
				return fmt.Errorf("expert %d of %d, rows %d to %d of its %d: %w", i, len(experts), from, from+n-1, len(e.Rows), err)
			}
		}
	}
	return nil
}
