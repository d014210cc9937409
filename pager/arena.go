package pager

import (
	"fmt"
	"math/bits"
	"sync"
)

// A Geometry is the shape of an Arena.
type Geometry struct {
	Banks     int   // B: groups of experts held at a time
	Group     int   // G: records a bank has room for
	Stride    int64 // bytes from one record of a bank to the next: the largest expert record, padded
	DenseSlot int64 // bytes of each of the two dense slots: the largest dense record, padded
	Align     int64 // of records in the files and of cells in memory: a power of two, recorded in the package
}

// denseSlots is two, so that a record is read while the one before it is used.
const denseSlots = 2

// Bytes is the memory that the arena takes; it is not meaningful for a geometry that NewArena refuses.
func (g Geometry) Bytes() int64 {
	return denseSlots*g.DenseSlot + int64(g.Banks)*g.bank()
}

func (g Geometry) bank() int64 { return int64(g.Group) * g.Stride }

func (g Geometry) validate() error {
	if g.Align < 1 || g.Align&(g.Align-1) != 0 {
		return fmt.Errorf("alignment %d is not a power of two", g.Align)
	}
	if g.Banks < 0 || g.Group < 0 || g.Stride < 0 || g.DenseSlot < 0 {
		return fmt.Errorf("negative size in %+v", g)
	}
	if g.Stride%g.Align != 0 || g.DenseSlot%g.Align != 0 {
		return fmt.Errorf("stride %d and dense slot %d are not both multiples of the alignment %d", g.Stride, g.DenseSlot, g.Align)
	}
	over, group := bits.Mul64(uint64(g.Group), uint64(g.Stride))
	more, banks := bits.Mul64(uint64(g.Banks), group)
	if most := uint64(1) << 60; over != 0 || more != 0 || banks > most || uint64(g.DenseSlot) > most {
		return fmt.Errorf("geometry %+v is too large", g)
	}
	return nil
}

// A State is what a cell is doing.
type State uint8

const (
	Available State = iota // free
	Filling                // a reader writes it
	Ready                  // it waits to be taken
	InUse                  // the caller reads it
)

func (s State) String() string {
	if s > InUse {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return [...]string{"available", "filling", "ready", "in use"}[s]
}

// An Arena is two dense slots and then Banks expert banks, carved out of memory that the caller owns and frees, after
// the last pass is closed. Slots and banks are both cells. It serves one pass at a time.
//
// Invariants:
//
//	A1 a cell goes Available, Filling, Ready, InUse and round again; being dropped leads from Filling or Ready
//	   straight to Available
//	A2 a record is in one cell at most, dropped ones apart
//	A3 a cell that is not Available holds a run of 1 to Group records of one stage, one record if it is dense
//	A4 only a Filling cell is marked dropped: its reader frees it when the read returns, and it is never Ready
//	A5 only a Ready cell has an error, the one that kept its records out
//	A6 cells are disjoint, aligned, and inside the memory
type Arena struct {
	Geometry
	mem   []byte
	slots []cell
	banks []cell

	mu   sync.Mutex // guards pass; the pass guards the cells
	pass *Pass      // the last to have the arena
}

// A run is consecutive records of a stage. Of dense records, first counts on through the repeats of the head.
type run struct {
	stage, first, count int
	dense               bool
}

type cell struct {
	off     int64 // in mem
	state   State
	use     uint64 // counts fills, and uses of a pin, so that a stale release is known
	dropped bool
	err     error
	pin     *Pin // whose cell this is; nil: the arena's
	run
}

// NewArena divides mem, which is at least g.Bytes() long and starts at a multiple of g.Align.
func NewArena(mem []byte, g Geometry) (*Arena, error) {
	if err := g.validate(); err != nil {
		return nil, fmt.Errorf("arena: %w", err)
	}
	if int64(len(mem)) < g.Bytes() {
		return nil, fmt.Errorf("arena: %d bytes of memory, %d needed", len(mem), g.Bytes())
	}
	if !aligned(mem, g.Align) {
		return nil, fmt.Errorf("arena: memory does not start at a multiple of %d", g.Align)
	}
	a := &Arena{Geometry: g, mem: mem[:g.Bytes()]}
	if g.DenseSlot > 0 {
		a.slots = make([]cell, denseSlots)
	}
	if g.bank() > 0 {
		a.banks = make([]cell, g.Banks)
	}
	for i := range a.slots {
		a.slots[i].off = int64(i) * g.DenseSlot
	}
	for i := range a.banks {
		a.banks[i].off = denseSlots*g.DenseSlot + int64(i)*g.bank()
	}
	return a, nil
}

// serve gives the arena to a new pass, all cells Available, and has its pins rest.
func (a *Arena) serve(s *Pass) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pass != nil {
		if err := a.pass.over(); err != nil {
			return err
		}
	}
	a.pass = s
	for _, cells := range [][]cell{a.slots, a.banks} {
		for i := range cells {
			cells[i] = cell{off: cells[i].off, use: cells[i].use}
		}
	}
	for _, pin := range s.p.c.Pins {
		pin.rest()
	}
	return nil
}

func (a *Arena) cells(dense bool) []cell {
	if dense {
		return a.slots
	}
	return a.banks
}

// memory is where what a cell holds lies.
func (a *Arena) memory(c *cell) []byte {
	if c.pin != nil {
		return c.pin.Mem
	}
	return a.mem[c.off:]
}

// available returns a free cell, or nil.
func (a *Arena) available(dense bool) *cell {
	cells := a.cells(dense)
	for i := range cells {
		if cells[i].state == Available {
			return &cells[i]
		}
	}
	return nil
}

// held reports whether the caller has every cell of a kind.
func (a *Arena) held(dense bool) bool {
	for _, c := range a.cells(dense) {
		if c.state != InUse {
			return false
		}
	}
	return true
}

func (c *cell) fill(r run) {
	c.move(Available, Filling)
	c.use++
	c.run = r
}

func (c *cell) ready(err error) {
	c.move(Filling, Ready)
	c.err = err
}

func (c *cell) free() {
	c.state, c.dropped, c.err = Available, false, nil
}

func (c *cell) move(from, to State) {
	if invariants && c.state != from {
		panic(fmt.Sprintf("pager: invariant A1: %v cell goes to %v", c.state, to))
	}
	c.state = to
}

// waits reports whether the cell holds, or will hold, records of the stage for the consumer to take.
func (c *cell) waits(stage int) bool {
	return c.stage == stage && !c.dropped && (c.state == Filling || c.state == Ready)
}
