package planner_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
	"estream/runtime/planner"
)

var (
	sweepOf     = flag.String("sweep", "", "run this package in many shapes, and print what each takes and was predicted to take")
	sweepTokens = flag.Int("sweep-tokens", 512, "with a prompt of so many tokens")
	sweepRuns   = flag.Int("sweep-runs", 2, "so many times each, of which the fastest counts")
	sweepRate   = flag.Float64("sweep-rate", 1e9, "read at most so many bytes a second; 0: as fast as it goes")
)

// A swept is a shape with what it takes at best and was predicted to take.
type swept struct {
	runtime.Shape
	took, said time.Duration
}

func (s swept) off() float64 { return s.said.Seconds()/s.took.Seconds() - 1 }

func (s swept) String() string {
	return fmt.Sprintf("Q=%d B=%d G=%d: %.3f s, predicted %.3f s, %+.1f %%", s.Readers, s.Banks, s.Group, s.took.Seconds(), s.said.Seconds(), 100*s.off())
}

// TestSweep holds a profile's predictions, and the shape it chooses, against runs in 60 shapes. It takes a package of full
// size and two minutes in which nothing else runs: what comes of it is for docs/planner.md.
func TestSweep(t *testing.T) {
	if *sweepOf == "" {
		t.Skip("no -sweep")
	}
	debug.SetGCPercent(25)
	goruntime.GOMAXPROCS(goruntime.NumCPU() + 2)
	s := newSweep(t)
	choice := s.measure(s.shape(s.picked), *sweepRuns)
	byDefault := s.measure(s.shape(s.plan(runtime.Shape{})), *sweepRuns)
	fmt.Println("choice", choice)
	var all []swept
	for group, banks := range map[int][]int{1: {1, 2, 3, 4, 6, 8, 16, 24}, 2: {1, 2, 3, 4, 8, 12}, 4: {2, 3, 4, 6}, 8: {1, 2, 3, 4}} {
		for _, n := range banks {
			for _, readers := range []int{1, 2, 4} {
				if n == 1 && readers > 1 {
					continue // nothing to read ahead to
				}
				all = append(all, s.measure(runtime.Shape{Readers: readers, Banks: n, Group: group}, *sweepRuns))
				fmt.Println(all[len(all)-1])
			}
		}
	}
	slices.SortFunc(all, func(a, b swept) int { return cmp.Compare(a.took, b.took) })
	for i, x := range all[:3] { // which of many is best is luck in part
		all[i].took = min(x.took, s.measure(x.Shape, *sweepRuns).took)
	}
	choice.took = min(choice.took, s.measure(choice.Shape, *sweepRuns).took)
	byDefault.took = min(byDefault.took, s.measure(byDefault.Shape, *sweepRuns).took)
	best := slices.MinFunc(all, func(a, b swept) int { return cmp.Compare(a.took, b.took) })
	slices.SortFunc(all, func(a, b swept) int { return cmp.Compare(math.Abs(a.off()), math.Abs(b.off())) })
	regret := func(x swept) float64 { return 100 * (x.took.Seconds()/best.took.Seconds() - 1) }
	fmt.Printf("%d shapes, profile taken in %.1f s\nbest    %s\nchoice  %s\nregret  %+.1f %%\ndefault %s\nregret  %+.1f %%\nmedian  %s\nworst   %s\n",
		len(all), s.profiled.Seconds(), best, choice, regret(choice), byDefault, regret(byDefault), all[len(all)/2], all[len(all)-1])
}

// A sweep runs one prompt in many shapes.
type sweep struct {
	*testing.T
	model    *runtime.Model
	planner  planner.Planner
	picked   runtime.Plan
	profiled time.Duration
	batch    runtime.Batch
	next     runtime.Shape // of the run to come
}

func newSweep(t *testing.T) *sweep {
	s, o := &sweep{T: t}, runtime.Options{}
	if *sweepRate > 0 {
		rate, err := pager.NewRate(*sweepRate, 0)
		require.NoError(t, err)
		o.Source = func(path string) (pager.Source, error) {
			f, err := pager.OpenFile(path)
			if err != nil {
				return nil, err
			}
			return pager.Limit(f, rate), nil
		}
	}
	begun := time.Now()
	profile, err := planner.Measure(t.Context(), *sweepOf, "", o)
	require.NoError(t, err)
	s.profiled = time.Since(begun)
	fmt.Printf("%+v\n", *profile)
	o.Choose = func(_ *runtime.Model, as func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
		return as(s.next)
	}
	s.model = open(t, *sweepOf, o)
	s.planner = planner.Planner{Profile: profile, Package: planner.Describe(s.model)}
	rng, ids := rand.New(rand.NewPCG(7, 7)), make([]int32, *sweepTokens)
	for i := range ids {
		ids[i] = int32(rng.IntN(s.model.Vocab()))
	}
	s.batch = runtime.Batch{Prompts: [][]int32{ids}}
	begun = time.Now()
	choice, err := s.planner.Pick(func(x runtime.Shape) (runtime.Plan, error) { return s.model.PlanAs(s.Context(), len(ids), x, 0) })
	require.NoError(t, err)
	fmt.Printf("picked in %v: %s\n", time.Since(begun), choice.Plan)
	s.picked = choice.Plan
	return s
}

func (s *sweep) plan(x runtime.Shape) runtime.Plan {
	plan, err := s.model.PlanAs(s.Context(), *sweepTokens, x, 0)
	require.NoError(s, err)
	return plan
}

func (s *sweep) shape(p runtime.Plan) runtime.Shape {
	return runtime.Shape{Readers: p.Readers, Banks: p.Geometry.Banks, Group: p.Geometry.Group}
}

// measure predicts a shape and runs it some times.
func (s *sweep) measure(x runtime.Shape, times int) swept {
	said, err := s.planner.Predict(s.plan(x), true)
	require.NoError(s, err)
	out := swept{Shape: x, took: math.MaxInt64, said: said.Time}
	s.next = x
	for range times {
		res, err := s.model.Run(s.Context(), s.batch)
		require.NoError(s, err)
		out.took = min(out.took, res.Stats.Total)
	}
	return out
}
