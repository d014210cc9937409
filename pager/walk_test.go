package pager_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"estream/pager"
	"estream/pager/pagertest"
)

// A walker takes all records of a pass as a runtime does, and compares each byte with the source.
type walker struct {
	t      *testing.T
	m      *pagertest.Model
	mem    []byte
	pass   *pager.Pass
	wanted [][]bool
	guess  [][]bool // nil: none; the last experts are the likeliest
	heads  int
	rng    *rand.Rand // set: groups are held on to at random, where there are banks to hold
	banks  int

	took  []string // wanted records, in the order in which they came
	bytes int64    // of took, padded
	held  []pager.Group
}

func (w *walker) walk(ctx context.Context) error {
	for l := range w.m.Stages {
		if err := w.stage(ctx, l); err != nil {
			return err
		}
		w.pass.EndStage()
	}
	return nil
}

func (w *walker) stage(ctx context.Context, l int) error {
	st := w.m.Stages[l]
	n := len(st.Dense)
	if l == len(w.m.Stages)-1 {
		n *= w.heads
	}
	for range n {
		d, err := w.pass.Dense(ctx)
		if err != nil {
			return err
		}
		w.same(st.Dense[d.Record], w.m.Dense, d.Off, d.Len)
		w.pass.ReleaseDense(d)
	}
	if len(st.Experts) == 0 {
		return nil
	}
	if w.guess != nil {
		if err := w.pass.Guess(l, guess(w.guess[l])); err != nil {
			return err
		}
	}
	if err := w.pass.Route(w.wanted[l]); err != nil {
		return err
	}
	if w.guess != nil && l+1 < len(w.guess) {
		if err := w.pass.Guess(l+1, guess(w.guess[l+1])); err != nil {
			return err
		}
	}
	for {
		g, ok, err := w.pass.Next(ctx)
		if err != nil || !ok {
			w.release(0)
			return err
		}
		for i := range g.Count {
			if w.wanted[l][g.First+i] {
				e := st.Experts[g.First+i]
				w.same(e, w.m.Experts, g.Off+int64(i)*g.Stride, e.Len)
			}
		}
		w.held = append(w.held, g)
		keep := 0
		if w.rng != nil {
			keep = w.rng.IntN(w.banks)
		}
		w.release(keep)
	}
}

// release gives groups back until at most keep are held.
func (w *walker) release(keep int) {
	for len(w.held) > keep {
		i := 0
		if w.rng != nil {
			i = w.rng.IntN(len(w.held))
		}
		w.pass.Release(w.held[i])
		w.held = append(w.held[:i], w.held[i+1:]...)
	}
}

func (w *walker) same(rec pager.Record, src *pagertest.Mem, off, n int64) {
	w.t.Helper()
	w.took = append(w.took, rec.Name)
	w.bytes += w.padded(rec)
	if n != rec.Len || !bytes.Equal(w.mem[off:off+n], src.Bytes(rec)) {
		w.t.Fatalf("%s: %d bytes at %d of the arena are not the %d of its file", rec.Name, n, off, rec.Len)
	}
}

func (w *walker) padded(rec pager.Record) int64 {
	return (rec.Len + w.m.Align - 1) / w.m.Align * w.m.Align
}

// expected is what a walk takes, in order.
func expected(m *pagertest.Model, wanted [][]bool, heads int) []string {
	var names []string
	for l, st := range m.Stages {
		times := 1
		if l == len(m.Stages)-1 {
			times = heads
		}
		for range times {
			for _, d := range st.Dense {
				names = append(names, d.Name)
			}
		}
		for e, rec := range st.Experts {
			if wanted[l][e] {
				names = append(names, rec.Name)
			}
		}
	}
	return names
}

// route wants each expert with probability p.
func route(rng *rand.Rand, m *pagertest.Model, p float64) [][]bool {
	wanted := make([][]bool, len(m.Stages))
	for l, st := range m.Stages {
		wanted[l] = make([]bool, len(st.Experts))
		for e := range wanted[l] {
			wanted[l][e] = rng.Float64() < p
		}
	}
	return wanted
}

// guess lists what is wanted, the last first.
func guess(wanted []bool) (experts []int) {
	for e := len(wanted) - 1; e >= 0; e-- {
		if wanted[e] {
			experts = append(experts, e)
		}
	}
	return experts
}

// picks turns "1011" into wanted experts.
func picks(s string) []bool {
	wanted := make([]bool, len(s))
	for i := range s {
		wanted[i] = s[i] == '1'
	}
	return wanted
}

// start begins a pass that is closed, and its leaks looked for, when the test ends.
func start(t *testing.T, c pager.Config, heads int) *pager.Pass {
	t.Helper()
	p, err := pager.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Start(context.Background(), heads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// atMostOnce checks a log of reads: none overlaps another.
func atMostOnce(t *testing.T, file string, reads []pagertest.Range) {
	t.Helper()
	seen := map[int64]pagertest.Range{}
	for _, r := range reads {
		for off := r.Off; off < r.Off+r.Len; off += 64 {
			if old, ok := seen[off]; ok {
				t.Fatalf("%s: bytes at %d were read by %+v and by %+v", file, off, old, r)
			}
			seen[off] = r
		}
	}
}

func describe(c pager.Config, g pager.Geometry) string {
	return fmt.Sprintf("%v, Q=%d B=%d G=%d", c.Schedule, c.Readers, g.Banks, g.Group)
}
