package pager

// A cursor is a place in issue order: of each stage the dense records, then the experts.
type cursor struct {
	stage, dense, expert int
}

// issue takes the next read in order and a cell for it; nil where it has to wait for a cell, for routes, or to be asked.
func (s *Pass) issue() *cell {
	if s.p.c.Schedule == OnDemand && !s.asked {
		return nil
	}
	r, ok := s.upcoming()
	if !ok {
		return nil
	}
	c := s.cellFor(r)
	if c == nil {
		return nil
	}
	c.fill(r)
	s.asked = false
	if r.dense {
		s.at.dense++
	} else {
		s.at.expert = r.first + r.count
	}
	s.check()
	return c
}

// cellFor is where a run is to be read to: its pin, or a free cell; nil where none is free.
func (s *Pass) cellFor(r run) *cell {
	if pin := s.p.pinOf(r); pin != nil {
		return &pin.cell
	}
	return s.arena.available(r.dense)
}

// upcoming is the run at the cursor, which moves on over what is not to be read. It is cut only here, so that routes
// apply to all that is not yet issued.
func (s *Pass) upcoming() (run, bool) {
	for s.at.stage < len(s.stages) { // a pin that is not Available is read or being read
		if s.at.dense < s.denseCount(s.at.stage) {
			if pin := s.p.densePin(s.at.stage, s.at.dense); pin == nil || pin.cell.state == Available {
				return run{stage: s.at.stage, first: s.at.dense, count: 1, dense: true}, true
			}
			s.at.dense++
			continue
		}
		routed := s.routed && s.at.stage == s.stage
		if routed {
			s.at.expert = s.nextWanted(s.at.expert)
		}
		pins := s.p.pins[s.at.stage].experts
		if s.at.expert == len(pins) {
			s.at = cursor{stage: s.at.stage + 1}
			continue
		}
		pin := pins[s.at.expert]
		if pin != nil && pin.cell.state != Available {
			s.at.expert = pin.First + pin.Count
			continue
		}
		if !routed && s.p.c.Schedule != BeforeRouting {
			return run{}, false
		}
		if pin != nil {
			return run{stage: s.at.stage, first: pin.First, count: pin.Count}, true
		}
		r := run{stage: s.at.stage, first: s.at.expert, count: 1}
		for end := min(len(pins), r.first+s.arena.Group); r.first+r.count < end; r.count++ {
			if next := r.first + r.count; pins[next] != nil || routed && !s.wanted[next] {
				break
			}
		}
		return r, true
	}
	return run{}, false
}

// denseCount is how many dense records a stage hands over in this pass.
func (s *Pass) denseCount(stage int) int {
	n := len(s.stages[stage].Dense)
	if stage == len(s.stages)-1 {
		n *= s.heads
	}
	return n
}

// nextWanted is the first expert from e on that the current stage wants, or the number of its experts.
func (s *Pass) nextWanted(e int) int {
	for e < len(s.wanted) && !s.wanted[e] {
		e++
	}
	return e
}

// unwantedBytes is what was read of a run's records that the current stage does not want.
func (s *Pass) unwantedBytes(r run) int64 {
	var n int64
	for i := r.first; i < r.first+r.count; i++ {
		if !s.wanted[i] {
			_, one := s.p.span(run{stage: r.stage, first: i, count: 1})
			n += one
		}
	}
	return n
}
