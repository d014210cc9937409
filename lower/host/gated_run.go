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
//	gather    loop over segments: their rows of x, and sums of them
//	gate, up  loop over (segment, strip of columns): silu(gate)*up
//	quantize  loop over segments, where down is encoded; sums as well
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

	src        []byte    // x of the call
	y          []float32 // of the call
	x          []byte    // rows of the piece
	mixed      []float32 // [rows,f]: silu(gate)*up
	hidden     []byte    // what down reads: mixed, or its quantized rows
	xSums      []int32   // of x, quad by quad of each segment
	hiddenSums []int32   // of hidden, likewise
	strips     []float32 // of all threads
	panels     int       // of a strip of gate and up
	starts     []int     // panels where strips of down start; then where the last ends
}

const (
	segmentRows = 128 // of a segment, at most
	stripPanels = 8   // of a strip, at most
)

type gatedWeights struct{ gate, up, down kernel.Matrix }

// A segment is rows from..to-1 of an expert, which start at row at of the piece,
// and their quads at quad.
type segment struct{ expert, from, to, at, quad int }

func (s *segment) rows() int { return s.to - s.from }

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

// parts returns the bytes that rows of x, their sums, quantized hidden rows, their
// sums, hidden rows in f32, and strips take, two for each thread.
func (r *gatedRun) parts(rows int) (parts [6]int64) {
	n := int64(rows) // and as many quads, at most
	parts[0] = lower.RoundUp(n*int64(r.xRow()), lower.Align)
	parts[1] = lower.RoundUp(4*n*int64(r.gated.xSums), lower.Align)
	if r.quantized() {
		parts[2] = lower.RoundUp(n*int64(r.hiddenRow()), lower.Align)
		parts[3] = lower.RoundUp(4*n*int64(r.gated.hiddenSums), lower.Align)
	}
	parts[4] = lower.RoundUp(4*n*int64(r.f), lower.Align)
	parts[5] = 4 * int64(2*r.loop.pool.threads*r.stripWords())
	return parts
}

// bytes is the workspace for a number of rows.
func (r *gatedRun) bytes(rows int) (sum int64) {
	for _, n := range r.parts(rows) {
		sum += n
	}
	return sum
}

// lay parts a workspace of bytes(rows).
func (r *gatedRun) lay(space []byte, rows int) {
	var parts [6][]byte
	for i, n := range r.parts(rows) {
		parts[i], space = space[:n], space[n:]
	}
	r.x, r.xSums = parts[0], lower.I32(parts[1])
	r.hidden, r.hiddenSums = parts[2], lower.I32(parts[3])
	if !r.quantized() {
		r.hidden = parts[4]
	}
	r.mixed, r.strips = lower.F32(parts[4]), lower.F32(parts[5])
}

// xOf returns a segment's rows of x, hiddenOf its hidden rows.
func (r *gatedRun) xOf(s *segment) operand {
	return r.operand(s, r.x, r.xRow(), r.gated.x, r.xSums, r.gated.xSums)
}

func (r *gatedRun) hiddenOf(s *segment) operand {
	return r.operand(s, r.hidden, r.hiddenRow(), r.gated.hidden, r.hiddenSums, r.gated.hiddenSums)
}

func (r *gatedRun) operand(s *segment, data []byte, row int, d ir.DType, sums []int32, perQuad int) operand {
	o := operand{data: span(data, row, s.at, s.at+s.rows()), dtype: d, rows: s.rows()}
	if perQuad > 0 {
		o.sums = span(sums, perQuad, s.quad, s.quad+ceil(s.rows(), quad))
	}
	return o
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
	quads := 0
	for expert < len(r.call) && r.rows < most {
		have := len(r.call[expert].Rows)
		to := min(have, from+min(segmentRows, most-r.rows))
		if from < to {
			r.piece = append(r.piece, segment{expert, from, to, r.rows, quads})
			r.rows += to - from
			quads += ceil(to-from, quad)
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
		r := x.local.(*gatedRun)
		for i := range r.piece[from:to] {
			s := &r.piece[from+i]
			rows, o := r.call[s.expert].Rows[s.from:s.to], r.xOf(s)
			if err := kernel.GatherRows(o.data, r.src, rows, r.xRow()); err != nil {
				return err
			}
			if o.sums != nil {
				r.loop.pool.set.SumA8(o.sums, &r.experts[s.expert].gate, o.a8())
			}
		}
		return nil
	})
}

// average is the cost of a segment where one of a row is given.
func (r *gatedRun) average(row int) int { return row * r.rows / max(len(r.piece), 1) }

func (r *gatedRun) gateUp() error {
	panels := ceil(r.f, kernel.PanelColumns)
	r.panels = max(min(panels*len(r.piece)/(8*r.loop.pool.threads), stripPanels), 1)
	n := ceil(panels, r.panels)
	r.loop.pool.spread(&r.loop, len(r.piece)*n, r.average(2*r.panels*panelCost(1, r.h)), func(x *Exec, thread, i int) {
		r := x.local.(*gatedRun)
		n := ceil(ceil(r.f, kernel.PanelColumns), r.panels)
		r.segment(i/n, thread, i%n*r.panels)
	})
	return nil
}

// segment computes a strip of silu(gate)*up, which starts at a panel, for the rows of x of segment i.
func (r *gatedRun) segment(i, thread, panel int) {
	s, set := &r.piece[i], r.loop.pool.set
	w, x := r.experts[s.expert], r.xOf(s)
	end := min(panel+r.panels, w.gate.Panels())
	stride, first := (end-panel)*kernel.PanelColumns, panel*kernel.PanelColumns
	gate, up := r.strip(thread, 0), r.strip(thread, 1)
	w.gate.Next = w.up.Panel(panel)
	if end < w.gate.Panels() { // this thread's or another's next strip
		w.up.Next = w.gate.Panel(end)
	} else if i+1 < len(r.piece) {
		w.up.Next = r.experts[r.piece[i+1].expert].gate.Panel(0)
	}
	multiply(set, &w.gate, gate, stride, x, panel, end)
	if !r.oneSum {
		x.sums = nil
	}
	multiply(set, &w.up, up, stride, x, panel, end)
	set.SiLUMulColumns(r.mixed[s.at*r.f+first:], r.f, gate[first:], up[first:], stride, min(stride, r.f-first), s.rows())
}

func (r *gatedRun) quantize() error {
	if !r.quantized() {
		return nil
	}
	return r.loop.pool.loop(&r.loop, len(r.piece), r.average(2*r.f), func(x *Exec, from, to int) error {
		r := x.local.(*gatedRun)
		for i := range r.piece[from:to] {
			s := &r.piece[from+i]
			o := r.hiddenOf(s)
			if err := r.loop.pool.set.QuantizeA8(o.data, span(r.mixed, r.f, s.at, s.at+o.rows), o.rows, r.f, o.a8().Blocks); err != nil {
				return r.blame(s, err)
			}
			r.loop.pool.set.SumA8(o.sums, &r.experts[s.expert].down, o.a8())
		}
		return nil
	})
}

// blame names the expert of a segment of which a row cannot be quantized, and the token.
func (r *gatedRun) blame(s *segment, err error) error {
	call := &r.call[s.expert]
	var row *lower.RowError
	if errors.As(err, &row) {
		err = fmt.Errorf("silu(gate)*up cannot be quantized: %w", row.Err)
		err = &lower.RowError{Row: int(call.Rows[s.from+row.Row]), Err: err}
	}
	return &lower.ExpertError{Index: s.expert, Of: len(r.call), Err: err}
}

// add computes down and adds it to y. A strip is of all rows, so strips get smaller
// towards the end, where threads wait for the one that has the last: each is a third
// of a thread's share of what is left.
func (r *gatedRun) add() error {
	panels := ceil(r.out, kernel.PanelColumns)
	r.starts = append(r.starts[:0], 0)
	for at := 0; at < panels; r.starts = append(r.starts, at) {
		at += max(min((panels-at)/(3*r.loop.pool.threads), stripPanels), 1)
	}
	n := len(r.starts) - 1
	r.loop.pool.spread(&r.loop, n, ceil(panels, max(n, 1))*panelCost(r.rows, r.f), func(x *Exec, thread, i int) {
		r := x.local.(*gatedRun)
		for j := range r.piece {
			r.addSegment(j, thread, r.starts[i], r.starts[i+1])
		}
	})
	return nil
}

// addSegment adds a strip of segment i's rows, which Check has found to be in y.
func (r *gatedRun) addSegment(i, thread, panel, end int) {
	s, set := &r.piece[i], r.loop.pool.set
	w, e, x := r.experts[s.expert].down, &r.call[s.expert], r.hiddenOf(s)
	if i+1 < len(r.piece) {
		w.Next = r.experts[r.piece[i+1].expert].down.Panel(panel)
	}
	result, stride, first := r.strip(thread, 0), (end-panel)*kernel.PanelColumns, panel*kernel.PanelColumns
	multiply(set, &w, result, stride, x, panel, end)
	_ = set.ScatterAdd(r.y[first:], r.out, result[first:], stride, min(stride, r.out-first), e.Rows[s.from:s.to], e.W[s.from:s.to])
}
