package simulate_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/pagertest"
	"estream/pager/simulate"
)

// TestAgrees runs random small passes for real, on a clock that stands still but for reads and computation, and simulates
// them: every read, drop, wait and record handed over is the same, and at the same time.
func TestAgrees(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { newTwin(t, uint64(seed)).run() })
	}
}

// A twin is a pass that is run and simulated.
type twin struct {
	*testing.T
	seed uint64
	m    *pagertest.Model
	real pager.Config
	sim  simulate.Config
	mu   sync.Mutex // guards log, which readers and the consumer write
	log  []entry
	pass *pager.Pass
	from time.Time
	took time.Duration
}

// An entry is something that happened.
type entry struct {
	start, end time.Duration
	what       string
	simulate.Span
}

func newTwin(t *testing.T, seed uint64) *twin {
	rng := rand.New(rand.NewPCG(seed, 11))
	x := &twin{T: t, seed: seed, m: pagertest.New(seed, 16,
		pagertest.Shape{Dense: 1, Experts: 9, Size: 100}, pagertest.Shape{Dense: 3, Experts: 4, Size: 100},
		pagertest.Shape{Dense: 1, Experts: 12, Size: 200}, pagertest.Shape{Experts: 6, Size: 50},
		pagertest.Shape{Dense: 1, Size: 50}, pagertest.Shape{Dense: 3, Size: 50})}
	banks, group := 1+rng.IntN(5), 1+rng.IntN(4)
	x.real, _ = x.m.Config(t, banks, group, 1+rng.IntN(4))
	x.real.Schedule, x.real.Trace = pager.Schedule(rng.IntN(5)), x.trace
	if rng.IntN(2) == 0 {
		x.real.Pins = x.m.Pins(rng)
	}
	read := time.Duration(rng.IntN(1000) + 1) // how long reads and computation take about, in microseconds
	x.sim = simulate.Config{
		Arena: x.m.Geometry(banks, group), Schedule: x.real.Schedule, Readers: x.real.Readers, Heads: rng.IntN(3), Trace: x.simulated,
		Disk: simulate.Disk{Delay: func(s simulate.Span) time.Duration { return x.delay(x.offset(s), s.Dense, read) }},
	}
	x.real.Dense, x.real.Experts = slow{x.m.Dense, x, true, read}, slow{x.m.Experts, x, false, read}
	for range rng.IntN(3) {
		x.sim.Fetch = append(x.sim.Fetch, pad(x.m.Stages[0].Dense[0].Len))
	}
	some := func() time.Duration {
		return time.Duration(rng.IntN(2)) * time.Duration(rng.Int64N(int64(time.Millisecond)))
	}
	x.sim.Embed = some()
	likely := rng.Float64()
	for _, st := range x.m.Stages {
		s := simulate.Stage{Side: some(), Tail: some()}
		for _, d := range st.Dense {
			s.Dense = append(s.Dense, simulate.Dense{Bytes: pad(d.Len), Time: some()})
		}
		for _, e := range st.Experts {
			n := 0
			if rng.Float64() < likely {
				n = 1 + rng.IntN(9)
			}
			s.Stride, s.Rows = pad(e.Len), append(s.Rows, n)
		}
		row := some() / 5
		s.Group = func(rows []int) time.Duration {
			d := time.Duration(0)
			for _, n := range rows {
				d += row * time.Duration(n)
			}
			return d
		}
		x.sim.Stages = append(x.sim.Stages, s)
	}
	for l := range x.sim.Stages {
		st := &x.sim.Stages[l]
		st.Before, st.After = x.guess(rng, l), x.guess(rng, l+1)
	}
	return x
}

// guess is a guess of the next stage with experts, or none: right, wrong or half right.
func (x *twin) guess(rng *rand.Rand, from int) (guess []int) {
	l := x.routed(from)
	if l < 0 || rng.IntN(3) == 0 {
		return nil
	}
	wrong, rows := []float64{0, 0.5, 1}[rng.IntN(3)], x.sim.Stages[l].Rows
	for _, e := range rng.Perm(len(rows)) {
		if (rows[e] > 0) != (rng.Float64() < wrong) {
			guess = append(guess, e)
		}
	}
	return guess
}

// routed is the next stage with experts, -1 where there is none.
func (x *twin) routed(from int) int {
	for l := from; l < len(x.sim.Stages); l++ {
		if len(x.sim.Stages[l].Rows) > 0 {
			return l
		}
	}
	return -1
}

// tell guesses the next stage with experts.
func (x *twin) tell(guess []int, from int) {
	if guess != nil {
		require.NoError(x, x.pass.Guess(x.routed(from), guess))
		synctest.Wait()
	}
}

func pad(n int64) int64 { return (n + 15) &^ 15 }

// offset is where the records of a span lie.
func (x *twin) offset(s simulate.Span) int64 {
	st := x.m.Stages[max(s.Stage, 0)]
	switch {
	case s.Stage < 0:
		return st.Dense[0].Off
	case s.Dense:
		return st.Dense[s.First%len(st.Dense)].Off
	}
	return st.Experts[s.First].Off
}

// delay is how long a read takes: no two are alike, so that nothing happens at the same time by chance.
func (x *twin) delay(off int64, dense bool, scale time.Duration) time.Duration {
	rng := rand.New(rand.NewPCG(x.seed+uint64(off), map[bool]uint64{true: 1}[dense]))
	return 1 + time.Duration(rng.Int64N(int64(scale*time.Microsecond)))
}

// slow is a source whose reads take their time.
type slow struct {
	*pagertest.Mem
	x     *twin
	dense bool
	scale time.Duration
}

func (s slow) ReadAt(ctx context.Context, p []byte, off int64) error {
	time.Sleep(s.x.delay(off, s.dense, s.scale))
	return s.Mem.ReadAt(context.WithoutCancel(ctx), p, off) // one in flight at the end ends well
}

// run does two passes: what the first one pins, the second does not read.
func (x *twin) run() {
	for range 2 {
		x.sim.Pins = nil
		for _, p := range x.real.Pins {
			x.sim.Pins = append(x.sim.Pins, simulate.Pin{Stage: p.Stage, Dense: p.Dense, First: p.First, Count: p.Count, Loaded: p.Loaded()})
		}
		x.log = nil
		stats := x.walk()
		want := sorted(x.log)
		x.log = nil
		got, err := simulate.Run(x.sim)
		require.NoError(x, err)
		name := fmt.Sprintf("seed %d, %v", x.seed, x.real.Schedule)
		require.Equal(x, want, sorted(x.log), name)
		require.Equal(x, []any{stats.Bytes, stats.Wasted, stats.Reads, stats.Dropped, stats.Wait, x.took},
			[]any{got.Bytes, got.Wasted, got.Count, got.Dropped, got.Wait, got.Time}, name)
		require.LessOrEqual(x, got.Peak, x.sim.Arena.Bytes(), name)
	}
}

// sorted is a log in order of time; of one time by record, as readers are told apart by nothing.
func sorted(log []entry) []entry {
	slices.SortFunc(log, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.what, b.what), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.First, b.First), cmp.Compare(fmt.Sprint(a.Dense), fmt.Sprint(b.Dense)),
			cmp.Compare(a.Count, b.Count), cmp.Compare(a.Bytes, b.Bytes))
	})
	return log
}

// walk does the pass for real, as a runtime does. After each call the readers do all that they can.
func (x *twin) walk() pager.Stats {
	p, err := pager.New(x.real)
	require.NoError(x, err)
	x.from = time.Now()
	x.pass, err = p.Start(x.Context(), x.sim.Heads)
	require.NoError(x, err)
	synctest.Wait()
	for range x.sim.Fetch {
		rec := x.m.Stages[0].Dense[0]
		require.NoError(x, x.pass.Fetch(x.Context(), rec, x.m.Memory(pad(rec.Len))))
		synctest.Wait()
	}
	x.compute(x.sim.Embed)
	for l := range x.m.Stages {
		x.walkStage(l)
		x.pass.EndStage()
		synctest.Wait()
	}
	x.took = time.Since(x.from)
	stats, err := x.pass.Close()
	require.NoError(x, err)
	return stats
}

func (x *twin) walkStage(l int) {
	st, sim := x.m.Stages[l], x.sim.Stages[l]
	n := len(st.Dense)
	if l == len(x.m.Stages)-1 {
		n *= x.sim.Heads
	}
	x.tell(sim.Before, l)
	var held pager.Span
	for i := range n {
		x.pass.ReleaseDense(held)
		synctest.Wait()
		var err error
		held, err = x.pass.Dense(x.Context())
		require.NoError(x, err)
		x.hand(simulate.Span{Stage: l, Dense: true, First: held.Record, Count: 1})
		x.compute(sim.Dense[held.Record].Time)
		require.Equal(x, i%len(st.Dense), held.Record)
	}
	if len(st.Experts) > 0 {
		x.experts(l)
	}
	x.pass.ReleaseDense(held)
	synctest.Wait()
}

func (x *twin) experts(l int) {
	sim := x.sim.Stages[l]
	wanted := make([]bool, len(sim.Rows))
	for i, n := range sim.Rows {
		wanted[i] = n > 0
	}
	require.NoError(x, x.pass.Route(wanted))
	synctest.Wait()
	x.tell(sim.After, l+1)
	x.compute(sim.Side)
	for {
		g, ok, err := x.pass.Next(x.Context())
		require.NoError(x, err)
		if !ok {
			break
		}
		x.hand(simulate.Span{Stage: l, First: g.First, Count: g.Count})
		x.compute(sim.Group(sim.Rows[g.First : g.First+g.Count]))
		x.pass.Release(g)
		synctest.Wait()
	}
	x.compute(sim.Tail)
}

// compute lets the readers do what they can, also after time has passed.
func (x *twin) compute(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

func (x *twin) hand(s simulate.Span) {
	now := time.Since(x.from)
	x.add(entry{now, now, "take", s})
}

func (x *twin) add(e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log = append(x.log, e)
}

func (x *twin) trace(e pager.Event) {
	s := simulate.Span{Stage: e.Stage, Dense: e.Dense, First: e.First, Count: e.Count, Bytes: e.Bytes}
	if e.Kind == pager.Wait {
		s = simulate.Span{Stage: e.Stage, Dense: e.Dense}
	}
	if e.Stage < 0 {
		s.Count = 1 // the source is told of no record
	}
	x.add(entry{e.Start.Sub(x.from), e.End.Sub(x.from), e.Kind.String(), s})
}

func (x *twin) simulated(e simulate.Event) {
	s := e.Span
	if s.Dense && s.Stage >= 0 && s.Count > 0 {
		s.First %= len(x.m.Stages[s.Stage].Dense)
	}
	if s.Stage < 0 {
		s.First = 0
	}
	switch e.Kind {
	case simulate.ReadEnd:
		for i := range x.log {
			if o := &x.log[i]; o.what == "read" && o.Span == s && o.end < 0 {
				o.end = e.At
				return
			}
		}
		x.Fatalf("%v: no such read has begun", e)
	case simulate.ReadBegin:
		x.log = append(x.log, entry{e.At, -1, "read", s})
	case simulate.Drop:
		x.log = append(x.log, entry{e.At, e.At, "drop", s})
	case simulate.Take:
		s.Bytes = 0
		x.log = append(x.log, entry{e.At, e.At, "take", s})
	case simulate.WaitBegin:
		x.log = append(x.log, entry{e.At, -1, "wait", s})
	case simulate.WaitEnd:
		x.log[slices.IndexFunc(x.log, func(o entry) bool { return o.what == "wait" && o.end < 0 })].end = e.At
	}
}
