package pager

import (
	"fmt"
	"slices"
)

// Guess names experts, each once, that a stage's routes are likely to want, the likeliest first: of the consumer's own
// stage before Route, or of a later one. They are read in that order, but for pinned ones, when their turn comes. The list
// is copied; another guess replaces it, and what was read by the one before waits for the routes. Schedules other than
// Guessed do nothing with it.
func (s *Pass) Guess(stage int, experts []int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case stage < s.stage || stage >= len(s.stages) || s.known(stage):
		return fmt.Errorf("pager: a guess of stage %d of %d, in stage %d: its routes are known, or it has none", stage, len(s.stages), s.stage)
	}
	n := len(s.stages[stage].Experts)
	bad := func(e int) bool { return e < 0 || e >= n }
	switch {
	case len(experts) > n || slices.ContainsFunc(experts, bad):
		return fmt.Errorf("pager: stage %d has %d experts, %v were guessed", stage, n, experts)
	case s.p.c.Schedule != Guessed:
		return nil
	}
	s.guess, s.guessed = append(s.guess[:0], experts...), stage
	s.work.Broadcast()
	s.check()
	return nil
}

// likeliest is the likeliest expert that was guessed of the cursor's stage and is in no cell.
func (s *Pass) likeliest(pins []*Pin) (run, bool) {
	if s.p.c.Schedule == Guessed && s.guessed == s.at.stage {
		for _, e := range s.guess {
			if pins[e] == nil && s.holding(s.at.stage, e, false) == nil {
				return run{stage: s.at.stage, first: e, count: 1}, true
			}
		}
	}
	return run{}, false
}

// guessing reports whether what is read of a stage's experts now are guesses, which do not move the cursor.
func (s *Pass) guessing(stage int) bool { return s.p.c.Schedule == Guessed && !s.known(stage) }

// guesses counts the banks that wait beyond the cursor.
func (s *Pass) guesses() int {
	n := 0
	for i := range s.arena.banks {
		if c := &s.arena.banks[i]; c.waits(s.at.stage) && !c.before(s.at) {
			n++
		}
	}
	return n
}
