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
//	gate, up  loop over (segment, panel): silu(gate)*up of a panel's columns
//	quantize  loop over rows, where down is encoded
//	down      loop over panels: each adds its columns of all segments to y, in order
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
	gate   []float32 // [rows,f]: silu(gate)*up when it is complete
	up     []float32 // [rows,f]
	hidden []byte    // what down reads: gate, or its quantized rows
	result []float32 // [rows,out]
}

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

// parts returns the bytes that rows of x, quantized hidden rows, and floats take.
// Floats are gate, up, and the result of down, which stands where up stood, and
// gate if the hidden rows are quantized.
func (r *gatedRun) parts(rows int) (x, hidden, floats int64) {
	n := int64(rows)
	x = lower.RoundUp(n*int64(r.xRow()), lower.Align)
	if !r.quantized() {
		return x, 0, 4 * n * int64(r.f+max(r.f, r.out))
	}
	return x, lower.RoundUp(n*int64(r.hiddenRow()), lower.Align), 4 * n * int64(max(2*r.f, r.out))
}

// bytes is the workspace for a number of rows.
func (r *gatedRun) bytes(rows int) int64 {
	x, hidden, floats := r.parts(rows)
	return x + hidden + floats
}

// lay parts a workspace of bytes(rows).
func (r *gatedRun) lay(space []byte, rows int) {
	x, hidden, floats := r.parts(rows)
	r.x, r.hidden = space[:x], space[x:x+hidden]
	space = space[x+hidden:][:floats]
	if !r.quantized() {
		r.hidden = space
	}
	f := lower.F32(space)
	r.gate, r.up, r.result = f[:rows*r.f], f[rows*r.f:2*rows*r.f], f[len(f)-rows*r.out:]
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
		to := min(have, from+min(rowBlock, most-r.rows))
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

func (r *gatedRun) gateUp() error {
	panels := ceil(r.f, kernel.PanelColumns)
	return r.loop.pool.loop(&r.loop, len(r.piece)*panels, r.average(2*panelCost(1, r.h)), func(x *Exec, from, to int) error {
		r := x.local.(*gatedRun)
		panels, size := ceil(r.f, kernel.PanelColumns), r.xRow()
		for from < to {
			s, panel := r.piece[from/panels], from%panels
			last := min(panel+to-from, panels)
			r.segment(s, span(r.x, size, s.at, s.at+s.to-s.from), panel, last)
			from += last - panel
		}
		return nil
	})
}

// segment computes the columns of panels from..to-1 of silu(gate)*up for a segment's rows of x.
func (r *gatedRun) segment(s segment, x []byte, from, to int) {
	w, n := &r.experts[s.expert], s.to-s.from
	gate, up := r.gate[s.at*r.f:], r.up[s.at*r.f:]
	first, end := from*kernel.PanelColumns, min(to*kernel.PanelColumns, r.f)
	multiply(r.loop.pool.set, &w.gate, gate, x, r.gated.x, n, from, to)
	multiply(r.loop.pool.set, &w.up, up, x, r.gated.x, n, from, to)
	for i := range n {
		row := gate[i*r.f+first : i*r.f+end]
		r.loop.pool.set.SiLUMul(row, row, up[i*r.f+first:i*r.f+end])
	}
}

func (r *gatedRun) quantize() error {
	if !r.quantized() {
		return nil
	}
	return r.loop.pool.loop(&r.loop, r.rows, 2*r.f, func(x *Exec, from, to int) error {
		r := x.local.(*gatedRun)
		size, blocks := r.hiddenRow(), r.gated.hidden == ir.A8G128
		for i := from; i < to; i++ {
			if err := x.pool.set.QuantizeA8(span(r.hidden, size, i, i+1), span(r.gate, r.f, i, i+1), 1, r.f, blocks); err != nil {
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
	panels := ceil(r.out, kernel.PanelColumns)
	return r.loop.pool.loop(&r.loop, panels, panelCost(r.rows, r.f), func(x *Exec, from, to int) error {
		r := x.local.(*gatedRun)
		size := r.hiddenRow()
		first, end := from*kernel.PanelColumns, min(to*kernel.PanelColumns, r.out)
		for _, s := range r.piece {
			e, n := &r.call[s.expert], s.to-s.from
			result := r.result[s.at*r.out:][:n*r.out]
			multiply(r.loop.pool.set, &r.experts[s.expert].down, result, span(r.hidden, size, s.at, s.at+n), r.gated.hidden, n, from, to)
			if err := x.pool.set.ScatterAdd(r.y, result, r.out, e.Rows[s.from:s.to], e.W[s.from:s.to], first, end); err != nil {
				return err
			}
		}
		return nil
	})
}
