package pager_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"estream/pager"
	"estream/pager/pagertest"
)

// jittery makes reads complete out of order.
type jittery struct {
	pager.Source
	mu  sync.Mutex
	rng *rand.Rand
}

func (j *jittery) ReadAt(ctx context.Context, p []byte, off int64) error {
	j.mu.Lock()
	n := j.rng.IntN(100)
	j.mu.Unlock()
	for range n {
		runtime.Gosched()
	}
	return j.Source.ReadAt(ctx, p, off)
}

// TestHammer walks random models with random readers, banks, groups, schedules, routes and delays. Whatever these are,
// the records that come, their order and their bytes are the same.
func TestHammer(t *testing.T) {
	pagertest.CheckLeaks(t)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for seed := range rounds {
		hammer(t, uint64(seed))
	}
}

func hammer(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	var shapes []pagertest.Shape
	for range 1 + rng.IntN(4) {
		shapes = append(shapes, pagertest.Shape{Dense: rng.IntN(3), Experts: rng.IntN(12), Size: 1 + rng.Int64N(700)})
	}
	shapes = append(shapes, pagertest.Shape{Dense: rng.IntN(5), Size: 300}) // the head
	m := pagertest.New(seed, 64, shapes...)
	banks, group, readers := 1+rng.IntN(5), 1+rng.IntN(5), 1+rng.IntN(4)
	c, mem := m.Config(t, banks, group, readers)
	c.Schedule = pager.Schedule(rng.IntN(5))
	dense, experts := pagertest.NewFaulty(m.Dense), pagertest.NewFaulty(m.Experts)
	c.Dense, c.Experts = &jittery{Source: dense, rng: rng2(seed)}, &jittery{Source: experts, rng: rng2(seed + 1)}
	p, err := pager.New(c)
	if err != nil {
		t.Fatal(err)
	}
	what := describe(c, m.Geometry(banks, group))
	for range 2 { // the second pass finds the arena as the first left it
		heads, before := rng.IntN(3), len(experts.Reads())
		w := &walker{t: t, m: m, mem: mem, wanted: route(rng, m, rng.Float64()), guess: route(rng, m, rng.Float64()), heads: heads, rng: rng, banks: banks}
		if w.pass, err = p.Start(context.Background(), heads); err != nil {
			t.Fatalf("seed %d, %s: %v", seed, what, err)
		}
		if err := w.walk(context.Background()); err != nil {
			t.Fatalf("seed %d, %s: %v", seed, what, err)
		}
		st, err := w.pass.Close()
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, what, err)
		}
		if want := expected(m, w.wanted, heads); !slices.Equal(w.took, want) {
			t.Fatalf("seed %d, %s: took\n%q, want\n%q", seed, what, w.took, want)
		}
		if c.Schedule != pager.Guessed { // where a guess that is right may have to make room
			atMostOnce(t, "experts.bin", experts.Reads()[before:])
		}
		if st.Bytes != st.Wasted+w.bytes || st.Retries != 0 {
			t.Fatalf("seed %d, %s: %+v, but %d bytes were wanted", seed, what, st, w.bytes)
		}
		if (c.Schedule == pager.AfterRouting || c.Schedule == pager.OnDemand) && st.Wasted > 0 {
			t.Fatalf("seed %d, %s: %d bytes wasted", seed, what, st.Wasted)
		}
	}
}

func rng2(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// TestReleaseElsewhere has workers release the groups while the consumer goes on.
func TestReleaseElsewhere(t *testing.T) {
	pagertest.CheckLeaks(t)
	m := pagertest.New(1, 64, pagertest.Shape{Experts: 200, Size: 200}, pagertest.Shape{Experts: 200, Size: 200})
	c, mem := m.Config(t, 3, 2, 2)
	s := start(t, c, 1)
	all := route(rng2(0), m, 1)
	for l, st := range m.Stages {
		if err := s.Route(all[l]); err != nil {
			t.Fatal(err)
		}
		var workers sync.WaitGroup
		room := make(chan struct{}, 2) // held at the call of Next: one less than there are banks
		w := &walker{t: t, m: m, mem: mem}
		for {
			room <- struct{}{}
			g, ok, err := s.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			for i := range g.Count {
				e := st.Experts[g.First+i]
				w.same(e, m.Experts, g.Off+int64(i)*g.Stride, e.Len)
			}
			workers.Go(func() {
				runtime.Gosched()
				s.Release(g)
				<-room
			})
		}
		workers.Wait()
		if len(w.took) != len(st.Experts) {
			t.Fatalf("stage %d: %d experts came, want %d", l, len(w.took), len(st.Experts))
		}
		s.EndStage()
	}
}
