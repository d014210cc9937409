package runtime

import (
	"errors"
	"slices"

	"estream/lower"
	"estream/pager"
	"estream/pager/layout"
)

// pins is what a model keeps in memory from run to run, out of what the budget
// leaves: dense records, then the embedding table, then a prefix of each layer's
// experts, the same share of all, so that each layer saves the same reading time.
type pins struct {
	pieces map[piece]*pinned
	table  *pinnedTable // nil: not kept
}

// A piece is one pin: a dense record, or a run of experts.
type piece struct {
	stage        int
	dense        bool
	first, count int
}

type pinned struct {
	pager.Pin
	mem lower.Mem
}

// A pinnedTable is the embedding table with the blocks of it that are loaded.
type pinnedTable struct {
	mem    lower.Mem
	loaded []bool
}

// A share is what a plan pins.
type share struct {
	pieces []piece
	table  bool
	bytes  int64
}

// A piece of experts is of about pinBytes, and of pinExperts at most: few enough
// calls, yet small enough to be given up alone.
const (
	pinBytes   = 32 << 20
	pinExperts = 16
)

// share picks what to pin in so many bytes.
func (m *Model) share(left int64) share {
	var s share
	take := func(p piece, n int64) bool {
		if n > left {
			return false
		}
		s.pieces, s.bytes, left = append(s.pieces, p), s.bytes+n, left-n
		return true
	}
	align := m.pkg.Manifest.Align
	for l := range m.stages {
		dense, _ := m.records(l)
		for i, r := range dense {
			if !take(piece{l, true, i, 1}, r.Stride(align)) {
				return s
			}
		}
	}
	if n := m.tableBytes(); n <= left {
		s.table, s.bytes, left = true, s.bytes+n, left-n
	}
	counts := make([]int, len(m.stages))
	for grew := true; grew; {
		grew = false
		for l := range m.stages {
			if _, experts := m.records(l); counts[l] < len(experts) {
				n := min(m.pieceOf(experts), len(experts)-counts[l])
				if !take(piece{l, false, counts[l], n}, int64(n)*experts[0].Stride(align)) {
					return s
				}
				counts[l] += n
				grew = true
			}
		}
	}
	return s
}

// pieceOf is how many experts of a layer make a piece.
func (m *Model) pieceOf(experts []layout.Record) int {
	return int(max(1, min(pinExperts, pinBytes/experts[0].Stride(m.pkg.Manifest.Align))))
}

// tableBytes is what the embedding table takes, to the end of its last block's read.
func (m *Model) tableBytes() int64 { return lower.RoundUp(m.region.Size(), m.pkg.Manifest.Align) }

// A Pinned is records of a stage that a plan keeps in memory from run to run: see
// pager.Pin.
type Pinned struct {
	Stage        int
	Dense        bool
	First, Count int
}

// Pinned returns what the plan keeps in memory from run to run, and whether the
// embedding table is of it.
func (p Plan) Pinned() (records []Pinned, table bool) {
	for _, c := range p.share.pieces {
		records = append(records, Pinned{c.stage, c.dense, c.first, c.count})
	}
	return records, p.share.table
}

// keep makes the pins those of a share: what is there already stays.
func (ps *pins) keep(m *Model, on lower.Compiled, s share) error {
	var errs []error
	for p, old := range ps.pieces {
		if !slices.Contains(s.pieces, p) {
			errs = append(errs, old.mem.Free())
			delete(ps.pieces, p)
		}
	}
	if ps.table != nil && !s.table {
		errs = append(errs, ps.table.mem.Free())
		ps.table = nil
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if s.table && ps.table == nil {
		mem, err := m.host.Alloc(m.tableBytes(), m.pkg.Manifest.Align)
		if err != nil {
			return err
		}
		ps.table = &pinnedTable{mem: mem, loaded: make([]bool, len(m.region.Blocks))}
	}
	for _, p := range s.pieces {
		if ps.pieces[p] != nil {
			continue
		}
		mem, err := on.Alloc(m.pieceBytes(p), m.pkg.Manifest.Align)
		if err != nil {
			return err
		}
		if ps.pieces == nil {
			ps.pieces = map[piece]*pinned{}
		}
		ps.pieces[p] = &pinned{pager.Pin{Stage: p.stage, Dense: p.dense, First: p.first, Count: p.count, Mem: mem.Bytes()}, mem}
	}
	return nil
}

func (m *Model) pieceBytes(p piece) int64 {
	dense, experts := m.records(p.stage)
	if p.dense {
		return dense[p.first].Stride(m.pkg.Manifest.Align)
	}
	return int64(p.count) * experts[0].Stride(m.pkg.Manifest.Align)
}

// list is the pins of a share as a pager takes them.
func (ps *pins) list(s share) []*pager.Pin {
	var out []*pager.Pin
	for _, p := range s.pieces {
		out = append(out, &ps.pieces[p].Pin)
	}
	return out
}

// memory is where what a pin holds lies.
func (ps *pins) memory(p *pager.Pin) lower.Mem {
	return ps.pieces[piece{p.Stage, p.Dense, p.First, p.Count}].mem
}

// resident is what the pins take of the process's memory.
func (ps *pins) resident() int64 {
	n := int64(0)
	for _, p := range ps.pieces {
		n += pager.Resident(p.Mem)
	}
	if ps.table != nil {
		n += pager.Resident(ps.table.mem.Bytes())
	}
	return n
}

func (ps *pins) free() error {
	var errs []error
	for _, p := range ps.pieces {
		errs = append(errs, p.mem.Free())
	}
	if ps.table != nil {
		errs = append(errs, ps.table.mem.Free())
	}
	*ps = pins{}
	return errors.Join(errs...)
}
