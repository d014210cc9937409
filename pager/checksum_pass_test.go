package pager_test

import (
	"errors"
	"testing"

	"estream/pager"
	"estream/pager/pagertest"
)

// TestPolicies turns a bit of a record, for good, before the first pass or after it: which policy finds out, and when.
func TestPolicies(t *testing.T) {
	for _, dense := range []bool{false, true} {
		for policy, finds := range map[pager.Policy][2]bool{pager.Always: {true, true}, pager.First: {true, false}, pager.Off: {false, false}} {
			for healthy, want := range finds[:] {
				m := faultModel()
				c, _ := m.Config(t, 2, 2, 2)
				c.Schedule, c.Checks = pager.AfterRouting, m.Checks(policy)
				for range healthy {
					if err := takeAll(t, c, m); err != nil {
						t.Fatalf("%v: %v", policy, err)
					}
				}
				turned := pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: m.Stages[1].Experts[3].Off, Times: -1}
				if c.Experts = pagertest.NewFaulty(m.Experts, turned); dense {
					turned.Off = m.Stages[1].Dense[0].Off
					c.Experts, c.Dense = m.Experts, pagertest.NewFaulty(m.Dense, turned)
				}
				for range 2 { // what was not right is not trusted
					if err := takeAll(t, c, m); errors.Is(err, pager.ErrChecksum) != want || err != nil && !want {
						t.Errorf("%v, dense %v, %d passes before: %v, want found %v", policy, dense, healthy, err, want)
					}
				}
			}
		}
	}
}

// TestFirstRead: a record that came right only when it was read once more is trusted after that.
func TestFirstRead(t *testing.T) {
	m := faultModel()
	c, _ := m.Config(t, 2, 1, 1)
	c.Schedule, c.Checks = pager.AfterRouting, m.Checks(pager.First)
	at := pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: m.Stages[0].Experts[2].Off}
	src := pagertest.NewFaulty(m.Experts, at)
	c.Experts = src
	if err := takeAll(t, c, m); err != nil || src.Fired() != 1 {
		t.Fatalf("%v, %d fired", err, src.Fired())
	}
	c.Experts = pagertest.NewFaulty(m.Experts, at)
	if err := takeAll(t, c, m); err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Experts.(*pagertest.Faulty).Reads()), len(src.Reads())-1; got != want {
		t.Errorf("%d reads, want %d: nothing is read once more", got, want)
	}
}

// takeAll has a pass hand over every record; what they hold is not looked at.
func takeAll(t *testing.T, c pager.Config, m *pagertest.Model) error {
	t.Helper()
	s, all := start(t, c, 1), route(rng2(0), m, 2)
	defer s.Close()
	for l, st := range m.Stages {
		for range st.Dense {
			d, err := s.Dense(t.Context())
			if err != nil {
				return err
			}
			s.ReleaseDense(d)
		}
		if err := s.Route(all[l]); err != nil {
			return err
		}
		for {
			g, ok, err := s.Next(t.Context())
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			s.Release(g)
		}
		s.EndStage()
	}
	return nil
}
