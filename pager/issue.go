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
	switch {
	case r.dense:
		s.at.dense++
	case !s.guessing(r.stage):
		s.at.expert = r.first + r.count
	}
	s.check()
	return c
}

// cellFor is where a run is to be read to: its pin, or a free cell; nil where none is free, or guesses have all banks but one.
func (s *Pass) cellFor(r run) *cell {
	if pin := s.p.pinOf(r); pin != nil {
		return &pin.cell
	}
	if !r.dense && s.guessing(r.stage) && s.guesses() >= len(s.arena.banks)-1 {
		return nil
	}
	return s.arena.available(r.dense)
}

// known reports whether a stage is routed.
func (s *Pass) known(stage int) bool { return s.routed && stage == s.stage }

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
		pins := s.p.pins[s.at.stage].experts
		e, later := s.nextExpert(pins)
		switch {
		case later:
			return s.likeliest(pins)
		case e < len(pins):
			s.at.expert = e
			return s.cut(pins, e), true
		}
		s.at = cursor{stage: s.at.stage + 1}
	}
	return run{}, false
}

// nextExpert is the first expert from the cursor on that is to be read, or the number of the stage's; later tells that
// some may be once routes are known.
func (s *Pass) nextExpert(pins []*Pin) (e int, later bool) {
	for e = s.at.expert; e < len(pins) && !s.due(pins, e); e++ {
		loaded := pins[e] != nil && pins[e].cell.state != Available
		later = later || !loaded && !s.known(s.at.stage)
	}
	return e, later
}

// due reports whether an expert of the cursor's stage, at the cursor or beyond it, is to be read, guesses apart.
func (s *Pass) due(pins []*Pin, e int) bool {
	pin := pins[e]
	switch {
	case pin != nil && pin.cell.state != Available:
		return false
	case s.known(s.at.stage):
		return s.wanted[e] && (pin != nil || s.holding(s.at.stage, e, false) == nil)
	}
	return s.p.c.Schedule == BeforeRouting
}

// cut is the run to be read that begins with an expert: its pin's, or as many as follow and fit a bank.
func (s *Pass) cut(pins []*Pin, e int) run {
	if pin := pins[e]; pin != nil {
		return run{stage: s.at.stage, first: pin.First, count: pin.Count}
	}
	end := e + 1
	for end < min(len(pins), e+s.arena.Group) && pins[end] == nil && s.due(pins, end) {
		end++
	}
	return run{stage: s.at.stage, first: e, count: end - e}
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
