package planner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager"
	"estream/pager/layout"
	"estream/pager/simulate"
	"estream/runtime"
	"estream/runtime/planner"
	"estream/tools/pack"
)

// packed packs the small trained checkpoint: 4 layers of 16 experts.
func packed(t testing.TB) string {
	e, err := pack.FindEncoding("w8")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "p")
	_, err = pack.Run(t.Context(), "../../testdata/trained-small", dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

func open(t testing.TB, dir string, o runtime.Options) *runtime.Model {
	debug.FreeOSMemory() // what is resident is part of plans
	m, err := runtime.Open(t.Context(), dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// TestPackage packs and measures a package, and holds what is predicted against real runs.
func TestPackage(t *testing.T) {
	dir := packed(t)
	profile, err := planner.Measure(t.Context(), dir, "k", runtime.Options{})
	require.NoError(t, err)
	require.Positive(t, profile.Disk.Rate)
	class := profile.Classes["c0"]
	require.Positive(t, class.Body.Row+class.Body.Call+class.Body.More, "%+v", class)
	require.Positive(t, class.Group.Row+class.Group.Call+class.Group.More, "%+v", class)
	for _, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.OnDemand, pager.Guessed} {
		t.Run(schedule.String(), func(t *testing.T) { predicts(t, dir, profile, schedule) })
	}
	t.Run("frontier", func(t *testing.T) { frontier(t, dir, profile) })
	t.Run("measured", func(t *testing.T) { measured(t, dir) })
	t.Run("kept", func(t *testing.T) { kept(t, dir) })
}

// measured holds plans of a model that has been measured to those of one that has not.
func measured(t *testing.T, dir string) {
	o := runtime.Options{Schedule: pager.Guessed, Readers: 3, Banks: 2, Group: 3, Memory: 1}
	plan := func(m *runtime.Model) runtime.Plan {
		p, err := m.PlanAs(t.Context(), 64, runtime.Shape{Banks: 6}, 1<<30)
		require.NoError(t, err)
		p.Parts = p.Parts[1:] // what the program itself takes
		return p
	}
	want := plan(open(t, dir, o))
	s := planner.NewSampler(&o)
	type sampling struct {
		pager.Schedule
		group int
	}
	var samplings []sampling
	choose := o.Choose
	o.Choose = func(m *runtime.Model, as func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
		p, err := choose(m, as)
		samplings = append(samplings, sampling{p.Schedule, p.Geometry.Group})
		return p, err
	}
	m := open(t, dir, o)
	p, err := s.Measure(t.Context(), m, "k")
	require.NoError(t, err)
	require.Positive(t, p.Classes["c0"].Group.Row+p.Classes["c0"].Group.Call+p.Classes["c0"].Group.More)
	require.Equal(t, []sampling{{pager.OnDemand, 2}, {pager.BeforeRouting, 2}, {pager.BeforeRouting, 1}}, slices.Compact(samplings), "schedules and experts a read")
	require.Equal(t, want, plan(m))
}

// predicts compares what a plan is predicted to read, and which plan a model picks by itself, with real runs. Each block of
// the table and every expert is needed, so that nothing is left to chance.
func predicts(t *testing.T, dir string, profile *planner.Profile, schedule pager.Schedule) {
	m := open(t, dir, runtime.Options{Schedule: schedule, Readers: 3, Banks: 2, Group: 3, Memory: 1 << 30})
	p := planner.Planner{Profile: profile, Package: planner.Describe(m), Schedule: schedule}
	b := runtime.Batch{Prompts: [][]int32{spread(700, m.Vocab())}}
	for _, run := range []string{"first", "next"} {
		res, err := m.Run(t.Context(), b)
		require.NoError(t, err)
		want, err := p.Predict(res.Plan, run == "first")
		require.NoError(t, err)
		require.Equal(t, want.Count, res.Stats.Reads, "%s run of %s", run, res.Plan)
		require.InDelta(t, want.Bytes, res.Stats.Bytes, 4095, "%s run of %s: but for the source's alignment at the table's end", run, res.Plan)
		require.Positive(t, want.Time)
	}
	plan, err := m.PlanAs(t.Context(), 700, runtime.Shape{Readers: 3, Banks: 2, Group: 3}, 0)
	require.NoError(t, err)
	require.Equal(t, plan.Geometry.Bytes(), p.Mapped(plan))

	choose, tried := profile.Choose(schedule), 0
	chosen := open(t, dir, runtime.Options{Schedule: schedule, Choose: func(m *runtime.Model, as func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
		return choose(m, func(s runtime.Shape) (runtime.Plan, error) {
			tried++
			return as(s)
		})
	}})
	res, err := chosen.Run(t.Context(), b)
	require.NoError(t, err)
	require.Greater(t, tried, 2)
	tried = 0
	again, err := chosen.Plan(b)
	require.NoError(t, err)
	require.Equal(t, 2, tried, "shapes tried for a batch like the last")
	require.Equal(t, []any{res.Plan.Readers, res.Plan.Geometry}, []any{again.Readers, again.Geometry})
	picked, err := p.Pick(func(s runtime.Shape) (runtime.Plan, error) { return m.PlanAs(t.Context(), 700, s, 0) })
	require.NoError(t, err)
	require.Equal(t, []any{picked.Plan.Readers, picked.Plan.Geometry}, []any{res.Plan.Readers, res.Plan.Geometry})
}

// spread is ids from all over a vocabulary.
func spread(n, vocab int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i * vocab / n)
	}
	return ids
}

// made is a package that is not there: 3 layers of 8 experts of 1 MiB, two a token, that a disk of 1 GiB/s reads.
func made() *planner.Planner {
	p := &planner.Planner{Package: planner.Package{Table: 1 << 20, Head: []int64{1 << 20}}, Profile: &planner.Profile{
		Disk:    simulate.Disk{Rate: 1 << 30, Latency: time.Millisecond},
		Classes: map[string]planner.Class{"c": {Body: planner.Line{Row: 1e-5}, Group: planner.Line{Call: 1e-4, Row: 1e-5}, Side: planner.Line{Row: 1e-5}}},
	}}
	for range 3 {
		p.Package.Layers = append(p.Package.Layers, planner.Layer{Class: "c", Dense: 1 << 20, Stride: 1 << 20, Experts: 8, TopK: 2})
	}
	return p
}

// plan is the plan of a shape, which takes its arena and nothing else.
func plan(s runtime.Shape) (runtime.Plan, error) {
	g := pager.Geometry{Banks: s.Banks, Group: s.Group, Stride: 1 << 20, DenseSlot: 1 << 20, Align: 4096}
	return runtime.Plan{Tokens: 100, Sequences: 1, Rows: 1, Chunk: 100, Head: 1, Readers: s.Readers, Geometry: g, Parts: []runtime.Part{{Name: "arena", Bytes: g.Bytes()}}}, nil
}

func within(most int64) func(runtime.Shape) (runtime.Plan, error) {
	return func(s runtime.Shape) (runtime.Plan, error) {
		if s == (runtime.Shape{}) {
			s = runtime.Shape{Readers: 1, Banks: 1, Group: 1}
		}
		p, err := plan(s)
		if p.Bytes() > most {
			err = fmt.Errorf("%w: no", runtime.ErrMemory)
		}
		return p, err
	}
}

func TestPick(t *testing.T) {
	p := made()
	any, err := p.Pick(within(1 << 40))
	require.NoError(t, err)
	small, err := p.Pick(within(4 << 20)) // two banks of one expert, or one of two
	require.NoError(t, err)
	require.LessOrEqual(t, small.Plan.Bytes(), int64(4<<20))
	require.Greater(t, small.Plan.Readers, 1, "two reads hide a latency that one does not")
	require.Less(t, any.First.Time, small.First.Time)

	_, err = p.Pick(within(1))
	require.ErrorIs(t, err, runtime.ErrMemory)
	least, err2 := plan(runtime.Shape{Readers: 1, Banks: 1, Group: 1})
	require.NoError(t, err2)
	cost, err2 := p.Predict(least, true)
	require.NoError(t, err2)
	require.EqualError(t, err, fmt.Sprintf("memory budget too small: no; predicted to take %.3f s", cost.Time.Seconds()))
	require.EqualError(t, p.Fits(within(1)), err.Error())
	unmeasured := planner.Planner{Package: p.Package, Limit: 3 << 20}
	require.EqualError(t, unmeasured.Fits(within(1)), "memory budget too small: no; no profile is kept to predict its time by")
	require.NoError(t, unmeasured.Fits(within(3<<20)))
	unmeasured.Limit--
	require.ErrorIs(t, unmeasured.Fits(within(3<<20)), planner.ErrLimit)
	p.Limit = 4 << 20
	limited, err := p.Pick(within(1 << 40))
	require.NoError(t, err)
	require.Equal(t, small, limited)
	p.Limit = 1
	_, err = p.Pick(within(1 << 40))
	require.ErrorIs(t, err, planner.ErrLimit)
	require.EqualError(t, err, "the least that works maps 3145728 bytes of arena and pins, 1 allowed: allow as many, or, where a budget is given, give less: more than a session of the accelerator can map")

	p.Limit, p.Profile.Classes = 0, nil
	_, err = p.Pick(within(1 << 40))
	require.EqualError(t, err, "the profile has no layer class c: it is of another package")
}

// Of shapes that are as fast, neither the least memory nor the largest reads alone decide.
func TestPickAmongEqual(t *testing.T) {
	p := made()
	p.Profile.Disk.Latency, p.Profile.Classes["c"] = 0, planner.Class{} // reads alone limit, in whatever shape
	c, err := p.Pick(within(1 << 40))
	require.NoError(t, err)
	g := c.Plan.Geometry
	require.Equal(t, []int{2, 3}, []int{c.Plan.Readers, g.Banks}, "the fewest that are not frail")
	smallest := pager.Geometry{Banks: 3, Group: 1, Stride: g.Stride, DenseSlot: g.DenseSlot, Align: g.Align}
	require.Less(t, g.Bytes(), 2*smallest.Bytes())
	g.Group++
	require.GreaterOrEqual(t, g.Bytes(), 2*smallest.Bytes(), "%s: no larger reads in less than twice the smallest", c.Plan)

	p.Schedule = pager.Guessed
	c, err = p.Pick(within(1 << 40))
	require.NoError(t, err)
	require.Equal(t, []int{6, 1}, []int{c.Plan.Geometry.Banks, c.Plan.Geometry.Group}, "a guess takes a bank: %s", c.Plan)
}

// Whatever the disk and the costs, no choice of the frontier is better than the one that is picked.
func TestPickUnbeaten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		p := made()
		p.Profile.Disk = simulate.Disk{Rate: math.Exp2(26 + 6*rng.Float64()), Latency: time.Duration(rng.IntN(2e6)), Check: 5e9}
		line := func() planner.Line {
			return planner.Line{Call: 1e-3 * rng.Float64(), Row: 1e-5 * rng.Float64(), More: 1e-4 * rng.Float64()}
		}
		p.Profile.Classes["c"] = planner.Class{Body: planner.Line{Row: 2e-5 * rng.Float64()}, Group: line(), Rest: line()}
		p.Profile.Drag = rng.Float64() / 2
		picked, err := p.Pick(plan)
		require.NoError(t, err)
		rows, err := p.Frontier(func(s runtime.Shape, _ int64) (runtime.Plan, error) { return plan(s) })
		require.NoError(t, err)
		requireUnbeaten(t, fmt.Sprint("profile ", i), picked, rows)
	}
}

// requireUnbeaten wants no row of no more memory to be faster than a choice, 1 % apart, in one run and no slower in the other.
func requireUnbeaten(t *testing.T, what string, c planner.Choice, rows []planner.Choice) {
	for _, row := range rows {
		first, next := float64(row.First.Time)/float64(c.First.Time), float64(row.Next.Time)/float64(c.Next.Time)
		if row.Plan.Bytes() <= c.Plan.Bytes() && max(first, next) <= 1 {
			require.Greater(t, min(first, next), 0.99, "%s: chosen %s: %v, %v\n%s: %v, %v", what, c.Plan, c.First.Time, c.Next.Time, row.Plan, row.First.Time, row.Next.Time)
		}
	}
}

// Along the frontier memory rises, and each choice is faster than those before it in one of its runs.
func frontier(t *testing.T, dir string, measured *planner.Profile) {
	profile := *measured
	profile.Disk = simulate.Disk{Rate: 1e8, Latency: time.Millisecond}
	profile.Classes = map[string]planner.Class{}
	for name := range measured.Classes { // of a machine that is always as fast: reads are not to be hidden
		profile.Classes[name] = planner.Class{Body: planner.Line{Call: 1e-4, Row: 1e-6}, Group: planner.Line{Call: 1e-5, Row: 1e-6, More: 1e-6}}
	}
	m := open(t, dir, runtime.Options{})
	p := planner.Planner{Profile: &profile, Package: planner.Describe(m)}
	as := func(s runtime.Shape, memory int64) (runtime.Plan, error) { return m.PlanAs(t.Context(), 64, s, memory) }
	choices, err := p.Frontier(as)
	require.NoError(t, err)
	require.Greater(t, len(choices), 1)
	for i, c := range choices[1:] {
		for _, before := range choices[:i+1] {
			require.GreaterOrEqual(t, c.Plan.Bytes(), before.Plan.Bytes())
			require.True(t, c.First.Time < before.First.Time || c.Next.Time < before.Next.Time, "%s is no better than %s", c.Plan, before.Plan)
		}
	}
	last := choices[len(choices)-1]
	require.Zero(t, last.Next.Bytes, "the largest plan keeps all weights: %s", last.Plan)
	require.Less(t, last.Next.Time, last.First.Time)
	for _, memory := range []int64{choices[0].Plan.Bytes(), choices[len(choices)/3].Plan.Bytes(), choices[2*len(choices)/3].Plan.Bytes(), last.Plan.Bytes()} {
		c, err := p.Pick(func(s runtime.Shape) (runtime.Plan, error) { return as(s, memory) })
		require.NoError(t, err)
		requireUnbeaten(t, fmt.Sprint(memory, " bytes"), c, choices)
	}
}

// A profile is kept for the package, the machine and how it is run, where it can be.
func kept(t *testing.T, dir string) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	key, err := planner.Key(dir, 2, "host")
	require.NoError(t, err)
	other, err := planner.Key(dir, 3, "host")
	require.NoError(t, err)
	require.NotEqual(t, key, other)
	require.Nil(t, planner.Load(key))
	want := &planner.Profile{Key: key, Taken: time.Unix(1, 0).UTC(), Disk: simulate.Disk{Rate: 1}, Classes: map[string]planner.Class{"c0": {Group: planner.Line{More: 2}}}}
	path, err := want.Save()
	require.NoError(t, err)
	require.Equal(t, want, planner.Load(key))
	require.Nil(t, planner.Load(other))
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	require.Nil(t, planner.Load(key), "a damaged profile")
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, bytes.Repeat([]byte(" "), 1<<20)...), 0o666))
	require.Nil(t, planner.Load(key), "longer than a profile is")

	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.NoError(t, os.WriteFile(filepath.Dir(path), nil, 0o644))
	_, err = want.Save()
	require.Error(t, err, "the folder of caches cannot be made")
}

// TestKeyOfNoFile: a pipe, or a folder, in a file's place is told of, not waited for.
func TestKeyOfNoFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, layout.ManifestName), 0o777))
	_, err := planner.Key(dir, 2, "host")
	require.ErrorContains(t, err, layout.ManifestName+": is not a regular file")
}

// BenchmarkPick is what a run waits for its shape: of a package like OLMoE, 16 layers of 64 experts, eight a token.
func BenchmarkPick(b *testing.B) {
	for b.Loop() {
		p := made()
		for i := range 16 {
			l := planner.Layer{Class: "c", Dense: 1 << 20, Stride: 1 << 20, Experts: 64, TopK: 8}
			p.Package.Layers = append(p.Package.Layers[:i], l)
		}
		if _, err := p.Pick(plan); err != nil {
			b.Fatal(err)
		}
	}
}
