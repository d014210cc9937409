package pager

import (
	"errors"
	"strings"
	"testing"
)

// handmade is a pass without readers, in the middle of its second stage: bank 0 in use, 1 ready, 2 filling, a dense
// record in use and one ready.
func handmade(t *testing.T) *Pass {
	a, err := NewArena(make([]byte, 2*8+4*16), Geometry{Banks: 4, Group: 2, Stride: 8, DenseSlot: 8, Align: 1})
	if err != nil {
		t.Fatal(err)
	}
	stages := []Stage{
		{Dense: make([]Record, 1), Experts: make([]Record, 8)},
		{Dense: make([]Record, 2), Experts: make([]Record, 8)},
		{Dense: make([]Record, 1)},
	}
	s := &Pass{
		p: &Pager{c: Config{Stages: stages, Arena: a, Readers: 2}}, arena: a, stages: stages, heads: 1,
		at: cursor{stage: 1, dense: 2, expert: 6}, stage: 1, taken: 1, passed: 2,
	}
	for i, state := range []State{InUse, Ready, Filling} {
		a.banks[i].state = state
		a.banks[i].run = run{stage: 1, first: 2 * i, count: 2}
	}
	a.slots[0].state, a.slots[0].run = InUse, run{stage: 1, first: 0, count: 1, dense: true}
	a.slots[1].state, a.slots[1].run = Ready, run{stage: 1, first: 1, count: 1, dense: true}
	return s
}

func TestInvariants(t *testing.T) {
	tests := []struct {
		breaks string // the invariant; empty holds
		change func(s *Pass, a *Arena)
	}{
		{"", func(*Pass, *Arena) {}},
		{"", func(s *Pass, a *Arena) { a.banks[2].dropped = true }},
		{"", func(s *Pass, a *Arena) { a.banks[1].err = errors.New("EIO") }},
		{"A2", func(s *Pass, a *Arena) { a.banks[2].first = 3 }},
		{"A2", func(s *Pass, a *Arena) { a.slots[0].first = 1 }},
		{"A3", func(s *Pass, a *Arena) { a.banks[1].count = 0 }},
		{"A3", func(s *Pass, a *Arena) { a.banks[2].first, a.banks[2].count = 3, 3 }},
		{"A3", func(s *Pass, a *Arena) { a.banks[2].first = 7 }},
		{"A3", func(s *Pass, a *Arena) { a.banks[2].stage = 3 }},
		{"A3", func(s *Pass, a *Arena) { a.banks[2].dense = true }},
		{"A3", func(s *Pass, a *Arena) { a.slots[1].first = 2 }},
		{"A4", func(s *Pass, a *Arena) { a.banks[1].dropped = true }},
		{"A5", func(s *Pass, a *Arena) { a.banks[0].err = errors.New("EIO") }},
		{"A6", func(s *Pass, a *Arena) { a.banks[3].off -= 8 }},
		{"A6", func(s *Pass, a *Arena) { a.mem = a.mem[:len(a.mem)-1] }},
		{"A6", func(s *Pass, a *Arena) { a.Align = 16 }},
		{"P1", func(s *Pass, a *Arena) { s.at.expert = 5 }},
		{"P1", func(s *Pass, a *Arena) { s.at.dense = 1 }},
		{"P1", func(s *Pass, a *Arena) { s.at.stage = 0 }},
		{"P2", func(s *Pass, a *Arena) { s.passed = 4 }},
		{"P2", func(s *Pass, a *Arena) { s.taken = 2 }},
		{"P3", func(s *Pass, a *Arena) { s.p.c.Readers = 0 }},
		{"", func(s *Pass, a *Arena) { s.p.c.Schedule, s.at.expert = Guessed, 2 }},
		{"P1", func(s *Pass, a *Arena) { s.p.c.Schedule, s.at.expert = Guessed, 0 }}, // what is in use is not beyond it
		{"P4", func(s *Pass, a *Arena) {
			s.p.c.Schedule, s.at.expert, a.banks = Guessed, 0, a.banks[:2]
			s.passed, a.banks[0].state = 0, Ready
		}},
	}
	for i, tt := range tests {
		s := handmade(t)
		tt.change(s, s.arena)
		if err := s.invariant(); (err == nil) != (tt.breaks == "") || err != nil && !strings.HasPrefix(err.Error(), tt.breaks+":") {
			t.Errorf("%d: %v, want %s", i, err, tt.breaks)
		}
	}
}

// TestInvariantsPanic needs the tag "invariants".
func TestInvariantsPanic(t *testing.T) {
	if !invariants {
		t.Skip("built without the tag invariants")
	}
	for want, f := range map[string]func(*Pass){
		"A1": func(s *Pass) { s.arena.banks[1].move(InUse, Available) },
		"P2": func(s *Pass) { s.passed = 4; s.check() },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, "pager: invariant "+want) {
					t.Errorf("panic %q, want invariant %s", got, want)
				}
			}()
			f(handmade(t))
		}()
	}
}
