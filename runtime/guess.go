package runtime

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager"
	"estream/passes"
)

// Guesses counts how the experts of a layer were guessed, by the last guess before
// its routes were known.
type Guesses struct {
	Layer   int
	Guessed int // experts named
	Hit     int // of them, those that had rows
	Missed  int // experts that had rows and were not named
}

// checkEarly leaves a class without guesses where its early graph wants more than
// the residual stream, or gives other ids than the experts take.
func (c *class) checkEarly(x ir.Type) {
	if c.early == nil {
		return
	}
	in, out := c.early.graph.Inputs(), c.early.graph.Outputs
	if c.routed == nil || len(in) != 1 || !in[0].Type.Equal(x) || len(out) != 1 || !out[0].Type.Equal(c.routed.Args[1].Type) || len(c.early.weights) == 0 {
		c.early = nil
	}
}

// residual is the name of the value to which the tail adds what experts give: the
// residual stream once routes are known. Where the tail does not tell, it is x.
func (c *class) residual(made map[string]string) string {
	p := c.phases[passes.TailPhase]
	if p == nil {
		return "x"
	}
	y := p.graph.Value("y")
	var found []string
	for terms := []*ir.Value{y}; len(terms) > 0; terms = terms[1:] {
		switch v := terms[0]; {
		case v == nil || !v.Type.Equal(y.Type):
		case v.Op == ir.Add:
			terms = append(terms, v.Args...)
		case v.Op == ir.Input && (v.Name == "x" || made[v.Name] == passes.BodyPhase):
			found = append(found, v.Name)
		}
	}
	if len(found) != 1 {
		return "x"
	}
	return found[0]
}

// guess tells the pager which experts the next layer that has some, from one on,
// would want if its router were given x, the residual stream so far: first those that
// many tokens name, and name first.
func (r *run) guess(from int, x lower.Buffer) error {
	l := from
	for l < len(r.m.layers) && r.m.layers[l].callee == nil {
		l++
	}
	if r.plan.Schedule != pager.Guessed || l == len(r.m.layers) || r.m.layers[l].early == nil {
		return nil
	}
	c := r.m.layers[l]
	ids, err := r.m.mem.get(r.m.host, "guessed ids", r.m.guessedIDs(r.plan.Chunk), lower.Align)
	if err != nil {
		return err
	}
	dense, _ := r.m.records(l)
	weights := r.m.routers.bound(l, c.early, dense[0].Factors)
	k := c.routed.Args[1].Type.Last().N
	r.votes = resize(r.votes, c.n)
	clear(r.votes)
	for from := 0; from < r.plan.Tokens; from += r.plan.Chunk {
		rows := min(r.plan.Chunk, r.plan.Tokens-from)
		t := ir.Tensor(ir.I32, ir.N(rows), ir.N(k))
		out := lower.Buffer{Mem: ids, Len: lower.Size(t), Type: t}
		call := &lower.Call{In: []lower.Buffer{x.Rows(from, from+rows)}, Out: []lower.Buffer{out}, Weights: weights}
		if err := r.program(c.early, call); err != nil {
			if r.ctx.Err() != nil {
				return context.Cause(r.ctx)
			}
			r.namedOf = -1
			return nil // the router alone may say that a number is none: it is given the right ones
		}
		for i, e := range lower.I32(out.Bytes()) {
			if e >= 0 && int(e) < len(r.votes) {
				r.votes[e] += k - i%k
			}
		}
	}
	r.named = r.named[:0]
	for e, n := range r.votes {
		if n > 0 {
			r.named = append(r.named, e)
		}
	}
	slices.SortStableFunc(r.named, func(a, b int) int { return cmp.Compare(r.votes[b], r.votes[a]) })
	r.namedOf = l
	return r.pass.Guess(l, r.named)
}

// judge counts what the last guess of a layer was worth, whose routes are known.
func (r *run) judge(l int) {
	if r.namedOf != l {
		return
	}
	g := Guesses{Layer: l}
	for e, wanted := range r.routes.wanted {
		switch {
		case r.votes[e] > 0 && wanted:
			g.Hit++
			fallthrough
		case r.votes[e] > 0:
			g.Guessed++
		case wanted:
			g.Missed++
		}
	}
	r.guesses = append(r.guesses, g)
}

// guessedIDs is the bytes of the ids that a chunk of rows is guessed.
func (m *Model) guessedIDs(chunk int) int64 {
	most := 0
	for _, c := range m.layers {
		if c.early != nil {
			most = max(most, c.routed.Args[1].Type.Last().N)
		}
	}
	return max(1, 4*int64(chunk)*int64(most))
}

// guessBytes is the memory that a plan takes to guess.
func (m *Model) guessBytes(p *Plan) int64 {
	if p.Schedule != pager.Guessed {
		return 0
	}
	return m.routers.bytes + m.guessedIDs(p.Chunk)
}

// routers is what guesses multiply by. A layer's experts are guessed before its dense
// record is read, so the part of it in which the weights of the early graph lie, a
// norm and a router, is read ahead of all layers, and kept as long as plans guess.
// It is not compared with a checksum, which is of the whole record, several times as
// much to read: no result depends on a guess, and a wrong router, even one of numbers
// that are none, makes guesses that cost reads.
type routers struct {
	parts  []routerPart // of each layer
	bytes  int64
	mem    lower.Mem // nil: not kept
	loaded bool
}

// A routerPart is a part of a layer's dense record; Len 0: none.
type routerPart struct {
	at        int64 // in the routers' memory
	from, len int64 // in the record
}

// findRouters finds the parts. They begin where the source may be read.
func (m *Model) findRouters() {
	align := max(m.dense.Align(), lower.Align)
	m.routers.parts = make([]routerPart, len(m.layers))
	for l, c := range m.layers {
		if c.early == nil {
			continue
		}
		from, to := c.record.Len, int64(0)
		for _, w := range c.early.weights {
			from, to = min(from, w.offset), max(to, w.offset+w.size)
		}
		from = from / align * align
		m.routers.parts[l] = routerPart{m.routers.bytes, from, to - from}
		m.routers.bytes += (to - from + align - 1) / align * align
	}
}

// Routers returns the bytes of each read that is made, once, of what guesses multiply by.
func (m *Model) Routers() (reads []int64) {
	for _, part := range m.routers.parts {
		if part.len > 0 {
			reads = append(reads, lower.RoundUp(part.len, m.dense.Align()))
		}
	}
	return reads
}

// keep makes memory for the routers, or frees it.
func (rs *routers) keep(m *Model, wanted bool) (err error) {
	if !wanted || rs.bytes == 0 {
		return rs.free()
	}
	if rs.mem == nil {
		rs.mem, err = m.host.Alloc(rs.bytes, m.pkg.Manifest.Align)
	}
	return err
}

func (rs *routers) free() error {
	if rs.mem == nil {
		return nil
	}
	mem := rs.mem
	rs.mem, rs.loaded = nil, false
	return mem.Free()
}

// resident is what the routers take of the process's memory.
func (rs *routers) resident() int64 {
	if rs.mem == nil {
		return 0
	}
	return pager.Resident(rs.mem.Bytes())
}

// bound returns the buffers of an early graph's weights.
func (rs *routers) bound(l int, early *phase, factors []float32) []lower.Buffer {
	return early.bound(rs.mem, rs.parts[l].at-rs.parts[l].from, factors)
}

// loadRouters reads what guesses need and is not in memory yet.
func (r *run) loadRouters() error {
	rs := &r.m.routers
	if rs.mem == nil || rs.loaded {
		return nil
	}
	for l, part := range rs.parts {
		if part.len == 0 {
			continue
		}
		dense, _ := r.m.records(l)
		rec := pager.Record{Off: dense[0].Offset + part.from, Len: part.len, Name: fmt.Sprintf("router of layer %d", l)}
		if err := r.pass.Peek(r.ctx, rec, rs.mem.Bytes()[part.at:]); err != nil {
			return err
		}
	}
	rs.loaded = true
	return nil
}
