package pager_test

import (
	"context"
	"testing"
	"testing/synctest"

	"estream/pager"
	"estream/pager/pagertest"
)

// long is a stage of n experts that are all wanted, with the pass at its first.
func long(t testing.TB, n, banks, readers int) (*pager.Pass, pager.Config) {
	m := pagertest.New(1, 16, pagertest.Shape{Experts: n, Size: 16})
	c, _ := m.Config(t, banks, 1, readers)
	p, err := pager.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Start(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	wanted := make([]bool, n)
	for i := range wanted {
		wanted[i] = true
	}
	if err := s.Route(wanted); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func take(t testing.TB, s *pager.Pass) {
	g, ok, err := s.Next(context.Background())
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	s.Release(g)
}

func TestGroupsDoNotAllocate(t *testing.T) {
	s, _ := long(t, 3000, 4, 2)
	for range 100 {
		take(t, s)
	}
	if n := testing.AllocsPerRun(2000, func() { take(t, s) }); n > 0 {
		t.Errorf("%v allocations for each group", n)
	}
}

// TestReadsDoNotAllocate: a read of a real file, past the page cache, through it, or held up by a rate.
func TestReadsDoNotAllocate(t *testing.T) {
	const n = 16 << 10
	f := onDisk(t, pagertest.NewMem("f", make([]byte, 2*n), 1))
	mem, free, err := pager.Pages(2 * n)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for _, at := range []int{0, 1} { // of a page: only the first can be read directly
		for _, limited := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { // a rate takes no time
				src, p, ctx := pager.Source(f), mem[at:][:n], t.Context()
				if limited {
					rate, err := pager.NewRate(1e6, 1)
					if err != nil {
						t.Fatal(err)
					}
					src = pager.Limit(f, rate)
				}
				if got := testing.AllocsPerRun(2000, func() {
					if err := src.ReadAt(ctx, p, n); err != nil {
						t.Fatal(err)
					}
				}); got > 0 {
					t.Errorf("to byte %d of a page, limited %v: %v allocations for each read, want none", at, limited, got)
				}
			})
		}
	}
}

// BenchmarkGroup is what a group costs beside its read: locks, waking, and the checksum of 16 bytes.
func BenchmarkGroup(b *testing.B) {
	const n = 10000
	s, _ := long(b, n, 8, 2)
	left := n
	for b.Loop() {
		if left == 0 {
			b.StopTimer()
			s.Close()
			s, _ = long(b, n, 8, 2)
			left = n
			b.StartTimer()
		}
		take(b, s)
		left--
	}
}

// Guesses and routes are copied to memory that the pass has.
func TestGuessesDoNotAllocate(t *testing.T) {
	m := pagertest.New(1, 16, pagertest.Shape{Experts: 64, Size: 16}, pagertest.Shape{Experts: 64, Size: 16})
	c, _ := m.Config(t, 8, 1, 2)
	c.Schedule = pager.Guessed
	s := start(t, c, 1)
	wanted, guess := picks("0110100101101001011010010110100101101001011010010110100101101001"), []int{3, 1, 2, 40, 63, 0}
	if n := testing.AllocsPerRun(100, func() {
		if err := s.Guess(1, guess); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a guess", n)
	}
	if err := s.Route(wanted); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() { take(t, s) }); n > 0 {
		t.Errorf("%v allocations for each group", n)
	}
}
