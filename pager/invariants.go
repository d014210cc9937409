package pager

import "fmt"

// check panics with the invariant that does not hold, in builds with the tag "invariants".
func (s *Pass) check() {
	if !invariants {
		return
	}
	if err := s.invariant(); err != nil {
		panic("pager: invariant " + err.Error())
	}
}

// invariant finds one that does not hold. A1 is about moves: see cell.move.
func (s *Pass) invariant() error {
	a := s.arena
	filling, end := 0, int64(0)
	for _, dense := range []bool{true, false} {
		size := a.DenseSlot
		if !dense {
			end, size = denseSlots*a.DenseSlot, a.bank()
		}
		cells := a.cells(dense)
		for i := range cells {
			c := &cells[i]
			if c.off != end || c.off%a.Align != 0 || c.off+size > int64(len(a.mem)) {
				return fmt.Errorf("A6: cell %d at %d", i, c.off)
			}
			end += size
			if c.state == Filling {
				filling++
			}
			if err := s.invariantOf(c, dense); err != nil {
				return err
			}
			for j := range cells[:i] {
				if d := &cells[j]; c.state != Available && d.state != Available && !c.dropped && !d.dropped && c.overlaps(d.run) {
					return fmt.Errorf("A2: %+v and %+v are in two cells", c.run, d.run)
				}
			}
		}
	}
	for _, pin := range s.p.c.Pins {
		c := &pin.cell
		if c.state == Filling {
			filling++
		}
		if c.pin != pin || c.dropped || c.run != (run{stage: pin.Stage, first: pin.First, count: pin.Count, dense: pin.Dense}) {
			return fmt.Errorf("N1: %+v in the pin of stage %d, record %d", c.run, pin.Stage, pin.First)
		}
		if c.err != nil && c.state != Ready {
			return fmt.Errorf("A5: %v pin has error %v", c.state, c.err)
		}
	}
	if n := s.guesses(); s.p.c.Schedule == Guessed && n > 0 && n >= len(a.banks) {
		return fmt.Errorf("P4: %d of %d banks are guesses of stage %d", n, len(a.banks), s.at.stage)
	}
	if filling > s.p.c.Readers {
		return fmt.Errorf("P3: %d cells are filling, with %d readers", filling, s.p.c.Readers)
	}
	return nil
}

// invariantOf checks what one cell alone must keep.
func (s *Pass) invariantOf(c *cell, dense bool) error {
	switch {
	case c.dropped && c.state != Filling:
		return fmt.Errorf("A4: %v cell is dropped", c.state)
	case c.err != nil && c.state != Ready:
		return fmt.Errorf("A5: %v cell has error %v", c.state, c.err)
	case c.state == Available:
		return nil
	case !s.holds(c.run) || c.dense != dense:
		return fmt.Errorf("A3: cell holds %+v", c.run)
	case !c.before(s.at) && (s.p.c.Schedule != Guessed || dense || c.stage != s.at.stage || c.state == InUse):
		return fmt.Errorf("P1: %+v is not before %+v", c.run, s.at)
	case c.waits(s.stage) && c.first < s.handed(dense):
		return fmt.Errorf("P2: %+v waits, taken up to %d", c.run, s.handed(dense))
	}
	return nil
}

// holds reports whether r is a run that one cell may hold.
func (s *Pass) holds(r run) bool {
	if r.stage < 0 || r.stage >= len(s.stages) || r.first < 0 || r.count < 1 {
		return false
	}
	if r.dense {
		return r.count == 1 && r.first < s.denseCount(r.stage)
	}
	return r.count <= s.arena.Group && r.first+r.count <= len(s.stages[r.stage].Experts)
}

// handed is the first record of a kind that the consumer has not been handed in this stage.
func (s *Pass) handed(dense bool) int {
	if dense {
		return s.taken
	}
	return s.passed
}

func (r run) overlaps(o run) bool {
	return r.stage == o.stage && r.dense == o.dense && r.first < o.first+o.count && o.first < r.first+r.count
}

func (r run) before(at cursor) bool {
	if r.stage != at.stage {
		return r.stage < at.stage
	}
	if r.dense {
		return r.first < at.dense
	}
	return r.first+r.count <= at.expert
}
