package pager_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/pagertest"
)

// TestPinAfterFailure reads a pin that failed again in the next pass, and after that no more.
func TestPinAfterFailure(t *testing.T) {
	m := pagertest.New(3, 16, pagertest.Shape{Experts: 4, Size: 100})
	c, _ := m.Config(t, 1, 1, 2)
	pin := &pager.Pin{First: 1, Count: 3, Mem: make([]byte, 0)}
	c.Pins = []*pager.Pin{pin}
	_, err := pager.New(c)
	require.ErrorContains(t, err, "pager: pin of layer 0 expert 1 and 2 after it: 0 bytes of memory for ")
	rec := m.Stages[0].Experts[3]
	pin.Mem = m.Memory(rec.Off + rec.Len + m.Align - m.Stages[0].Experts[1].Off)
	faulty := pagertest.NewFaulty(m.Experts, pagertest.Fault{Kind: pagertest.EIO, Times: 1})
	c.Experts, c.Retries = faulty, -1
	take := func() error {
		s := start(t, c, 0)
		defer s.Close()
		require.NoError(t, s.Route(picks("0010")))
		g, _, err := s.Next(context.Background())
		if err == nil {
			require.Equal(t, pin, g.Pin)
			require.Equal(t, m.Experts.Bytes(m.Stages[0].Experts[2]), pin.Mem[g.Stride:g.Stride+m.Stages[0].Experts[2].Len])
			s.Release(g)
		}
		return err
	}
	c.Schedule = pager.AfterRouting
	require.ErrorIs(t, take(), syscall.EIO)
	require.False(t, pin.Loaded())
	for range 3 {
		require.NoError(t, take())
		require.True(t, pin.Loaded())
	}
	require.Len(t, faulty.Reads(), 2)
}

func TestPinRefused(t *testing.T) {
	m := pagertest.New(3, 16, pagertest.Shape{Dense: 2, Experts: 4, Size: 100})
	c, _ := m.Config(t, 1, 1, 2)
	mem := m.Memory(4096)
	for want, pins := range map[string][]*pager.Pin{
		"pin of stage 2 of 1":          {{Stage: 2, Count: 1}},
		"the stage has 4 such records": {{First: 2, Count: 3, Mem: mem}},
		"the stage has 2 such records": {{Dense: true, First: 0, Count: 2, Mem: mem}},
		"two pins of layer 0 expert 1": {{First: 0, Count: 2, Mem: mem}, {First: 1, Count: 1, Mem: mem}},
	} {
		c.Pins = pins
		_, err := pager.New(c)
		require.ErrorContains(t, err, want)
	}
}
