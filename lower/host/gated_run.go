package host

import (
	"context"
	"errors"
	"fmt"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// A gatedRun runs the gated body for a whole group. The rows of its experts stand
// one after another, a piece of them at a time:
//
//	gather    the rows of x
//	gate, up  loop over (segment, strip of columns): silu(gate)*up
//	quantize  loop over rows, where down is encoded
//	down      loop over strips: each adds its columns of all segments to y, in order
//
// Products go to a strip in the thread's working memory, which stays in the second
// cache, and from there to where they are wanted.
type gatedRun struct {
	*gated
	loop    Exec
	call    []lower.Expert
	experts []gatedWeights // of the call
	piece   []segment
	rows    int // in the piece

	src    []byte    // x of the call
	y      []float32 // of the call
	x      []byte    // rows of the piece
	mixed  []float32 // [rows,f]: silu(gate)*up
	hidden []byte    // what down reads: mixed, or its quantized rows
	strips []float32 // of all threads
	panels int       // of a strip, in the loop under way
}

const (
	segmentRows = 128 // of a segment, at most
	stripPanels = 8   // of a strip, at most: enough for what a product does once
)

type gatedWeights struct{ gate, up, down kernel.Matrix }

// A segment is rows from..to-1 of an expert, which start at row at of the piece.
type segment struct{ expert, from, to, at int }

func newGatedRun(m *gated, p *pool) *gatedRun {
	r := &gatedRun{gated: m, loop: Exec{pool: p}}
	r.loop.local = r
	return r
}

// xRow is the bytes of a row of x, hiddenRow those of a quantized hidden row.
func (r *gatedRun) xRow() int { return rowBytes(ir.Tensor(r.gated.x, ir.N(r.h))) }

func (r *gatedRun) hiddenRow() int { return rowBytes(ir.Tensor(r.gated.hidden, ir.N(r.f))) }

func (r *gatedRun) quantized() bool { return r.gated.hidden.Activation() }

// stripWords is what a strip takes. Columns of a product keep their distance from
// the matrix's first, so the strip has room for a row of it in front.
func (r *gatedRun) stripWords() int {
	columns := stripPanels * kernel.PanelColumns
	return segmentRows*columns + ceil(max(r.f, r.out), kernel.PanelColumns)*kernel.PanelColumns
}

// parts returns the bytes that rows of x, quantized hidden rows, hidden rows in
// f32, and strips take, two for each thread.
func (r *gatedRun) parts(rows int) (parts [4]int64) {
	n := int64(rows)
	parts[0] = lower.RoundUp(n*int64(r.xRow()), lower.Align)
	if r.quantized() {
		parts[1] = lower.RoundUp(n*int64(r.hiddenRow()), lower.Align)
	}
	parts[2] = lower.RoundUp(4*n*int64(r.f), lower.Align)
	parts[3] = 4 * int64(2*r.loop.pool.threads*r.stripWords())
	return parts
}

// bytes is the workspace for a number of rows.
func (r *gatedRun) bytes(rows int) int64 {
	p := r.parts(rows)
	return p[0] + p[1] + p[2] + p[3]
}

// lay parts a workspace of bytes(rows).
func (r *gatedRun) lay(space []byte, rows int) {
	next := func(n int64) []byte {
		part := space[:n]
		space = space[n:]
		return part
	}
	p := r.parts(rows)
	r.x, r.hidden = next(p[0]), next(p[1])
	floats := next(p[2])
	if !r.quantized() {
		r.hidden = floats
	}
	r.mixed, r.strips = lower.F32(floats), lower.F32(next(p[3]))
}

// strip is one of the two strips of a thread.
func (r *gatedRun) strip(thread, i int) []float32 {
	return span(r.strips, r.stripWords(), 2*thread+i, 2*thread+i+1)
}

// run runs a group call in pieces of at most the given number of rows.
func (r *gatedRun) run(ctx context.Context, g *group, call []lower.Expert, space []byte, most int) error {
	r.lay(space, most)
	r.call, r.experts = call, r.experts[:0]
	r.src, r.y = g.p.at[g.X].Bytes(), lower.F32(g.p.at[g.Y].Bytes())
	defer r.forget()
	for i := range call {
		e, w := &call[i], gatedWeights{}
		if len(e.Rows) > 0 {
			w = gatedWeights{matrix(g.Weight(e, r.gated.gate)), matrix(g.Weight(e, r.gated.up)), matrix(g.Weight(e, r.down))}
		}
		r.experts = append(r.experts, w)
	}
	for expert, from := 0, 0; expert < len(call); {
		expert, from = r.fill(expert, from, most)
		for i, step := range [...]func(*gatedRun) error{(*gatedRun).gather, (*gatedRun).gateUp, (*gatedRun).quantize, (*gatedRun).add} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.step(g.p, i, step); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget drops the call's memory.
func (r *gatedRun) forget() {
	clear(r.experts)
	r.call, r.src, r.y = nil, nil, nil
}

// fill makes the piece that starts at a row of an expert and returns where the next one does.
func (r *gatedRun) fill(expert, from, most int) (nextExpert, nextFrom int) {
	r.piece, r.rows = r.piece[:0], 0
	for expert < len(r.call) && r.rows < most {
		have := len(r.call[expert].Rows)
		to := min(have, from+min(segmentRows, most-r.rows))
		if from < to {
			r.piece = append(r.piece, segment{expert, from, to, r.rows})
			r.rows += to - from
		}
		if from = to; from == have {
			expert, from = expert+1, 0
		}
	}
	return expert, from
}

// gather copies the piece's rows of x.
func (r *gatedRun) gather() error {
	return r.loop.pool.loop(&r.loop, len(r.piece), r.average(r.xRow()/8), func(x *Exec, from, to int) error {
		r, size := x.local.(*gatedRun), x.local.(*gatedRun).xRow()
		for _, s := range r.piece[from:to] {
			rows := r.call[s.expert].Rows[s.from:s.to]
			if err := kernel.GatherRows(span(r.x, size, s.at, s.at+len(rows)), r.src, rows, size); err != nil {
				return err
			}
		}
		return nil
	})
}

// average is the cost of a segment where one of a row is given.
func (r *gatedRun) average(row int) int { return row * r.rows / max(len(r.piece), 1) }

// cut sets how many panels a strip has where a loop is over strips of panels,
// parts times over, and returns the number of strips.
func (r *gatedRun) cut(columns, parts int) int {
	panels := ceil(columns, kernel.PanelColumns)
	r.panels = max(min(panels*parts/(4*r.loop.pool.threads), stripPanels), 1)
	return ceil(panels, r.panels)
}

func (r *gatedRun) gateUp() error {
	n := r.cut(r.f, len(r.piece))
	r.loop.pool.spread(&r.loop, len(r.piece)*n, r.average(2*r.panels*panelCost(1, r.h)), func(x *Exec, thread, i int) {
		r := x.local.(*gatedRun)
		n := ceil(ceil(r.f, kernel.PanelColumns), r.panels)
		r.segment(r.piece[i/n], thread, i%n*r.panels)
	})
	return nil
}

// segment computes a strip of silu(gate)*up, which starts at a panel, for a segment's rows of x.
func (r *gatedRun) segment(s segment, thread, panel int) {
	w, n, set := &r.experts[s.expert], s.to-s.from, r.loop.pool.set
	end := min(panel+r.panels, w.gate.Panels())
	x, stride := span(r.x, r.xRow(), s.at, s.at+n), (end-panel)*kernel.PanelColumns
	gate, up := r.strip(thread, 0), r.strip(thread, 1)
	multiply(set, &w.gate, gate, stride, x, r.gated.x, n, panel, end)
	multiply(set, &w.up, up, stride, x, r.gated.x, n, panel, end)
	first := panel * kernel.PanelColumns
	columns := min(stride, r.f-first)
	set.SiLUMulColumns(r.mixed[s.at*r.f+first:], r.f, gate[first:], up[first:], stride, columns, n)
}

func (r *gatedRun) quantize() error {
	if !r.quantized() {
		return nil
	}
	return r.loop.pool.loop(&r.loop, r.rows, 2*r.f, func(x *Exec, from, to int) error {
		r := x.local.(*gatedRun)
		size, blocks := r.hiddenRow(), r.gated.hidden == ir.A8G128
		for i := from; i < to; i++ {
			if err := x.pool.set.QuantizeA8(span(r.hidden, size, i, i+1), span(r.mixed, r.f, i, i+1), 1, r.f, blocks); err != nil {
				return r.blame(i, errors.Unwrap(err))
			}
		}
		return nil
	})
}

// blame names the expert and the token of row i of the piece, which cannot be quantized.
func (r *gatedRun) blame(i int, err error) error {
	for _, s := range r.piece {
		if row := s.from + i - s.at; row < s.to {
			err = fmt.Errorf("silu(gate)*up cannot be quantized: %w", err)
			return &lower.ExpertError{Index: s.expert, Of: len(r.call), Err: &lower.RowError{Row: int(r.call[s.expert].Rows[row]), Err: err}}
		}
	}
	return err
}

// add computes down and adds it to y.
func (r *gatedRun) add() error {
	n := r.cut(r.out, 1)
	r.loop.pool.spread(&r.loop, n, r.panels*panelCost(r.rows, r.f), func(x *Exec, thread, i int) {
		r := x.local.(*gatedRun)
		for _, s := range r.piece {
			r.addSegment(s, thread, i*r.panels)
		}
	})
	return nil
}

// addSegment adds a strip of a segment's rows, which Check has found to be in y.
func (r *gatedRun) addSegment(s segment, thread, panel int) {
	w, e, n, set := &r.experts[s.expert].down, &r.call[s.expert], s.to-s.from, r.loop.pool.set
	end := min(panel+r.panels, w.Panels())
	result, stride := r.strip(thread, 0), (end-panel)*kernel.PanelColumns
	multiply(set, w, result, stride, span(r.hidden, r.hiddenRow(), s.at, s.at+n), r.gated.hidden, n, panel, end)
	first := panel * kernel.PanelColumns
	_ = set.ScatterAdd(r.y[first:], r.out, result[first:], stride, min(stride, r.out-first), e.Rows[s.from:s.to], e.W[s.from:s.to])
}
