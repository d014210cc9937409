package pager_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"estream/pager"
	"estream/pager/pagertest"
)

func TestNewArena(t *testing.T) {
	good := pager.Geometry{Banks: 3, Group: 2, Stride: 32, DenseSlot: 64, Align: 16}
	if got := good.Bytes(); got != 2*64+3*2*32 {
		t.Errorf("%+v takes %d bytes", good, got)
	}
	tests := []struct {
		change func(*pager.Geometry)
		err    string
	}{
		{func(g *pager.Geometry) {}, ""},
		{func(g *pager.Geometry) { g.Banks, g.Stride = 0, 0 }, ""},
		{func(g *pager.Geometry) { g.DenseSlot = 0 }, ""},
		{func(g *pager.Geometry) { g.Align = 0 }, "not a power of two"},
		{func(g *pager.Geometry) { g.Align = 24 }, "not a power of two"},
		{func(g *pager.Geometry) { g.Banks = -1 }, "negative"},
		{func(g *pager.Geometry) { g.DenseSlot = -16 }, "negative"},
		{func(g *pager.Geometry) { g.Stride = 40 }, "not both multiples"},
		{func(g *pager.Geometry) { g.DenseSlot = 8 }, "not both multiples"},
		{func(g *pager.Geometry) { g.Banks = 4 }, "320 bytes of memory, 384 needed"},
		{func(g *pager.Geometry) { g.Banks, g.Group = math.MaxInt, math.MaxInt }, "too large"},
		{func(g *pager.Geometry) { g.Banks, g.Group, g.Stride = 2, 2, 1<<62 }, "too large"},
		{func(g *pager.Geometry) { g.DenseSlot = math.MaxInt64 &^ 15 }, "too large"},
	}
	mem, free, err := pager.Pages(good.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for _, tt := range tests {
		g := good
		tt.change(&g)
		_, err := pager.NewArena(mem, g)
		matches(t, g, err, tt.err)
	}
	good.Banks = 2
	_, err = pager.NewArena(mem[1:], good)
	matches(t, good, err, "does not start at a multiple of 16")
}

func TestNew(t *testing.T) {
	tests := []struct {
		name   string
		change func(*pager.Config)
		err    string
		is     error
	}{
		{"good", func(c *pager.Config) {}, "", nil},
		{"no arena", func(c *pager.Config) { c.Arena = nil }, "no arena", nil},
		{"no readers", func(c *pager.Config) { c.Readers = 0 }, "0 readers", nil},
		{"schedule", func(c *pager.Config) { c.Schedule = 9 }, "unknown schedule Schedule(9)", nil},
		{"no source", func(c *pager.Config) { c.Experts = nil }, "layer 0 expert 0: no source", nil},
		{"offset", func(c *pager.Config) { c.Stages[1].Experts[3].Off++ }, "experts.bin: layer 1 expert 3 at offset", nil},
		{"negative offset", func(c *pager.Config) { c.Stages[0].Dense[0].Off = -16 }, "dense.bin: dense 0 of layer 0 at offset -16", nil},
		{"nothing", func(c *pager.Config) { c.Stages[0].Dense[0].Len = 0 }, "0 bytes, the arena has room for", nil},
		{"too large", func(c *pager.Config) { c.Stages[0].Experts[1].Len = math.MaxInt64 }, "the arena has room for", nil},
		{"too large a dense record", func(c *pager.Config) { c.Stages[0].Dense[0].Len = 1000 }, "1000 bytes, the arena has room for", nil},
		{"past the end", func(c *pager.Config) { c.Stages[0].Dense[0].Off = math.MaxInt64 &^ 15 }, "file ends at", pager.ErrTruncated},
		{"cut", func(c *pager.Config) {
			c.Experts = pagertest.NewMem("experts.bin", make([]byte, c.Experts.Size()-16), 16)
		}, "experts.bin: layer 1 expert 7 at offset", pager.ErrTruncated},
		{"cut in the padding", func(c *pager.Config) {
			c.Stages[1].Experts[7].Len = c.Stages[1].Experts[1].Off - c.Stages[1].Experts[0].Off - 8
			c.Experts = pagertest.NewMem("experts.bin", make([]byte, c.Experts.Size()-4), 16)
		}, "experts.bin: layer 1 expert 7 at offset", pager.ErrTruncated},
		{"stride", func(c *pager.Config) {
			e := c.Stages[0].Experts
			e[6], e[7] = e[7], e[6]
		}, "do not keep to the stride", nil},
		{"one record on top of another", func(c *pager.Config) {
			for i := range c.Stages[0].Experts {
				c.Stages[0].Experts[i].Off = 0
			}
		}, "do not keep to the stride 0", nil},
		{"stride past a bank", func(c *pager.Config) {
			e := c.Stages[0].Experts
			c.Stages[0].Experts = []pager.Record{e[0], e[7]}
		}, "the arena has room for", nil},
		{"name", func(c *pager.Config) { c.Stages[1].Dense[0] = pager.Record{Off: 1, Len: 1} }, "stage 1 dense 0 at offset 1", nil},
	}
	for _, tt := range tests {
		c, _ := faultModel().Config(t, 2, 2, 1)
		tt.change(&c)
		_, err := pager.New(c)
		matches(t, tt.name, err, tt.err)
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v is not %v", tt.name, err, tt.is)
		}
	}
	c, _ := faultModel().Config(t, 2, 2, 1)
	c.Arena, _ = pager.NewArena(nil, pager.Geometry{Align: 16})
	_, err := pager.New(c)
	matches(t, "arena without cells", err, "the arena has no cell for it")
}

// TestOnePass: an arena serves one pass at a time, of whatever pager, and a closed one does nothing to the next.
func TestOnePass(t *testing.T) { synctest.Test(t, onePass) }

func onePass(t *testing.T) {
	ctx := context.Background()
	c, _ := faultModel().Config(t, 2, 2, 1)
	p, err := pager.New(c)
	if err != nil {
		t.Fatal(err)
	}
	first, dense, groups := holdAll(t, p)
	_, err = p.Start(ctx, 1)
	matches(t, "second pass", err, "the arena's last pass is open")
	if _, err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second, _, taken := holdAll(t, p)
	first.ReleaseDense(dense)
	for _, g := range groups {
		first.Release(g)
	}
	first.EndStage()
	if _, err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Route(picks("11111111")); !errors.Is(err, pager.ErrClosed) {
		t.Errorf("route of a closed pass: %v", err)
	}
	if _, _, err := second.Next(ctx); !errors.Is(err, pager.ErrHeld) {
		t.Errorf("the first pass released a group of the second: %v", err)
	}
	second.Release(taken[0])
	if _, ok, err := second.Next(ctx); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	second.Release(taken[1])
	synctest.Wait() // the last group is ready, for the second pass
	first.EndStage()
	if _, err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := second.Next(ctx); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if st, err := second.Close(); err != nil || st.Dropped != 1 { // the dense record of the next stage
		t.Errorf("%+v, %v", st, err)
	}
}

// holdAll begins a pass and takes its first dense record and a group for each bank.
func holdAll(t *testing.T, p *pager.Pager) (*pager.Pass, pager.Span, []pager.Group) {
	t.Helper()
	s, err := p.Start(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Dense(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Route(picks("11111111")); err != nil {
		t.Fatal(err)
	}
	var groups []pager.Group
	for range 2 {
		g, ok, err := s.Next(context.Background())
		if !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		groups = append(groups, g)
	}
	return s, d, groups
}

func matches(t *testing.T, what any, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%+v: error %v, want %q", what, err, want)
	}
}
