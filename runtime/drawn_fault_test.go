package runtime_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/pager/pagertest"
	"estream/runtime"
)

// TestScripts runs drawn plans under drawn scripts of faults, each from a seed of its own. Whatever goes wrong, a run gives
// the right bits, or an error that names file, record and offset, or what its deadline caused; it ends; and once all is well
// the same model gives the right bits and frees all of its memory.
func TestScripts(t *testing.T) {
	f, scripts := newFaulty(t), 500
	switch {
	case testing.Short():
		scripts = 50
	case raced:
		scripts = 200
	}
	few := *f // with prompts that leave most experts without rows
	few.batch.Prompts = [][]int32{{7, 3, 5}}
	few.want = run(t, open(t, f.dir, runtime.Options{}), few.batch).Logits
	n := 0
	var sum tally
	for seed := range pagertest.Seeds(t, scripts) {
		synctest.Test(t, func(t *testing.T) { []*faulty{f, &few}[seed%2].script(t, seed, &sum) })
		n++
	}
	t.Logf("%+v", sum)
	if n >= 50 { // fewer may chance to be all of a kind
		require.Greater(t, sum.failed, n/4, "scripts with runs that failed: %+v", sum)
		require.Positive(t, sum.survived, "scripts with faults and none that failed: %+v", sum)
		require.Greater(t, sum.pinned, n/8, "models with pins: %+v", sum)
	}
}

// A tally counts scripts.
type tally struct{ quiet, survived, failed, pinned, refused int }

func (f *faulty) script(t *testing.T, seed uint64, sum *tally) {
	rng := rand.New(rand.NewPCG(seed, 8))
	o := runtime.Options{
		Schedule: schedules[rng.IntN(4)], Readers: 1 + rng.IntN(4), Banks: 1 + rng.IntN(3), Group: 1 + rng.IntN(4), Chunk: 1 + rng.IntN(20),
	}
	s := pagertest.Draw(rng, []string{layout.ExpertsName, layout.DenseName}, 24, f.size())
	if rng.IntN(2) == 0 {
		o.Memory = f.pins(t, o) + rng.Int64N(1<<20)
	}
	x := f.scripted(t, o, s)
	if rng.IntN(4) == 0 {
		x.patience = time.Duration(rng.Int64N(int64(4 * time.Second)))
	}
	failed, refused := 0, false
	for range 3 {
		if err := x.run(); errors.Is(err, runtime.ErrMemory) {
			refused = true // the process grew meanwhile
		} else if err != nil {
			failed++
		}
	}
	switch {
	case refused:
		sum.refused++
	case failed > 0:
		sum.failed++
	case x.fired() > 0:
		sum.survived++
	default:
		sum.quiet++
	}
	if p, err := x.m.Plan(x.batch); err == nil {
		if records, _ := p.Pinned(); len(records) > 0 {
			sum.pinned++
		}
	}
	x.heal()
}

// size is that of the experts' file.
func (f *faulty) size() int64 {
	src, err := f.source(filepath.Join(f.dir, layout.ExpertsName))
	if err != nil {
		panic(err) // it is in memory
	}
	return src.Size()
}

// pins is a budget of memory that leaves a little for pins.
func (f *faulty) pins(t *testing.T, o runtime.Options) int64 {
	m, err := runtime.Open(t.Context(), f.dir, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	p, err := m.Plan(f.batch)
	require.NoError(t, err)
	return p.Bytes()
}
