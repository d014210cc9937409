package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
	"estream/tools/energy"
	"estream/tools/pack"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := packed(); err == nil {
		os.RemoveAll(filepath.Dir(dir))
	}
	os.Exit(code)
}

// packed packs the tiny model once for all tests.
var packed = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "estream-bench-test-")
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "tiny w4.estream")
	e, err := pack.FindEncoding("w4")
	if err != nil {
		return "", err
	}
	_, err = pack.Run(context.Background(), "../../testdata/olmoe", dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0], Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	return dir, err
})

// tiny is a bench of the tiny model.
func tiny(t testing.TB) Options {
	t.Helper()
	dir, err := packed()
	require.NoError(t, err)
	return Options{Packages: []string{dir}, Census: census, Threads: []int{2}, Prompts: []int{20}, Repetitions: 2, Seed: 3}
}

func census(m *runtime.Model) (*pack.Census, error) {
	return pack.Count(m.Module(), host.New(host.Options{}).Packings()[0], m.Vocab(), nil, false)
}

// results runs a bench to its end.
func results(t testing.TB, o Options) []*Result {
	t.Helper()
	var out []*Result
	require.NoError(t, Run(t.Context(), o, func(r *Result) error {
		out = append(out, r)
		return nil
	}))
	return out
}

// TestDropped: a bench of a device that drops rows says so.
func TestDropped(t *testing.T) {
	npu, tiers := lowertest.NewNPU(), passes.Tiers{T: []int{64}, S: []int{64}, R: []int{2}}
	e, err := pack.FindEncoding("f32")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "npu.estream")
	device := static.New(npu, tiers)
	_, err = pack.Run(t.Context(), "../../testdata/olmoe", dir, pack.Options{
		Encoding: e, Backend: device.Name(), Packing: device.Packings()[0], Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	for _, drop := range []bool{false, true} {
		o, notes := tiny(t), []string(nil)
		o.Packages = []string{dir}
		o.Note = func(n string) { notes = append(notes, n) }
		o.Use = func(_ string, r *runtime.Options, h lower.Backend) {
			r.Host, r.Device = h, device.With(tiers, static.Policy{Drop: drop})
		}
		results(t, o)
		require.Equal(t, drop, strings.Contains(strings.Join(notes, "\n"), "rows of experts were dropped"), notes)
	}
}

// TestPlanned: the peak is of all runs, and so is the plan beside it; the shape is of the last.
func TestPlanned(t *testing.T) {
	r := tally{Result: &Result{}}
	for _, bytes := range []int64{5, 9, 7} {
		p := runtime.Plan{Readers: int(bytes), Parts: []runtime.Part{{Name: "program", Bytes: bytes - 1}, {Name: "pins", Bytes: 1}}}
		r.add(&runtime.Result{Plan: p, Stats: runtime.Stats{Total: 1}}, energy.Reading{}, nil, apartTimes{})
	}
	require.Equal(t, []int64{9, 7, 1}, []int64{r.PlanBytes, int64(r.Q), r.ResidentBytes})
}

// A test for each number of threads and length of prompt, with the model's sizes.
func TestRun(t *testing.T) {
	o := tiny(t)
	o.Threads, o.Prompts, o.Repetitions = []int{1, 2}, []int{3, 20}, 3
	var told []string
	o.Progress = func(text string) { told = append(told, text) }
	rs := results(t, o)
	require.Len(t, rs, 4)
	require.Len(t, told, 4*(1+1+3), "%q", told)
	for i, r := range rs {
		require.Equal(t, []int{1 + i/2, []int{3, 20}[i%2]}, []int{r.Threads, r.Prompt})
		require.Equal(t, []int{r.Prompt, r.Prompt, 0, 0}, []int{r.Batch, r.Microbatch, r.Gen, r.Depth})
		require.Len(t, r.SamplesNS, 3)
		require.Len(t, r.SamplesTS, 3)
		require.Equal(t, []string{"host", "bf16", "bf16", []string{"guessed", "before-routing"}[i%2], "olmoe 0.22M w4"}, []string{r.Backends, r.TypeK, r.TypeV, r.Schedule, r.ModelType})
		require.Equal(t, []int{2, 4, 1}, []int{r.Q, r.B, r.G})
		for name, n := range map[string]int64{"avg_ns": r.AvgNS, "compute": r.ComputeNS, "read": r.ReadNS, "bytes": r.BytesRead, "arena": r.ArenaBytes, "plan": r.PlanBytes, "size": r.ModelSize} {
			require.Positive(t, n, name)
		}
		require.LessOrEqual(t, r.ComputeNS+r.WaitNS, r.AvgNS)
		for j, ns := range r.SamplesNS {
			require.InEpsilon(t, float64(r.Prompt)*1e9/float64(ns), r.SamplesTS[j], 1e-9)
		}
		require.Equal(t, i%2 == 0, r.Guessed > 0 && r.GuessHits > 0 && r.GuessHits <= r.Guessed, "%+v", r)
		require.Nil(t, r.Bubble)
		require.Nil(t, r.Int8Share)
		require.Nil(t, r.Profile)
		require.Equal(t, energy.Unmeasured, r.EnergySource)
		require.Zero(t, r.ResidentBytes)
	}
	// 64 wide, 3 layers of 8 experts of 32 rows, 160 tokens, head and embedding apart.
	layer := 64 + 4*64*64 + 2*64 + 64 + 8*64 + 8*3*32*64
	require.Equal(t, int64(3*layer+64+2*160*64), rs[0].ModelParams)
}

// Each size of chunk is a test.
func TestChunks(t *testing.T) {
	o := tiny(t)
	o.Chunks, o.Repetitions = []int{0, 7}, 1
	rs := results(t, o)
	require.Len(t, rs, 2)
	require.Equal(t, []int{20, 7}, []int{rs[0].Microbatch, rs[1].Microbatch})
}

// The parts of a bubble are measured in turn, and the same reads are done again.
func TestBubble(t *testing.T) {
	o := tiny(t)
	o.Bubble, o.Prompts = true, []int{20, 5}
	rs := results(t, o)
	for i, r := range rs {
		require.Len(t, r.SamplesTioNS, 2)
		require.Len(t, r.SamplesExecNS, 2)
		require.Len(t, r.SamplesBothNS, 2)
		require.Positive(t, *r.TbothNS)
		require.Positive(t, *r.TioNS)
		require.Positive(t, *r.TexecNS)
		require.InDelta(t, 1-float64(max(*r.TioNS, *r.TexecNS))/float64(median(r.SamplesNS)), *r.Bubble, 1e-9)
		require.Equal(t, i == 0, r.PeakBytes != nil, "the peak behind a model in memory is that one's")
	}
}

// All weights stay in memory after the first run.
func TestResident(t *testing.T) {
	o := tiny(t)
	o.Resident = true
	r := results(t, o)[0]
	require.Zero(t, r.BytesRead)
	require.GreaterOrEqual(t, r.ResidentBytes, r.ModelSize)
	require.EqualError(t, spare(3<<30, 2<<20), "the weights are 3.00 GiB, and 2.00 MiB of memory are free")
	require.NoError(t, spare(3<<30, 0), "what is free is not known")
}

// What was measured before the end of the context is reported, then its error.
func TestCancelled(t *testing.T) {
	for _, runs := range []int{1, 3} { // one of the warm-up, or two more
		ctx, cancel := context.WithCancel(t.Context())
		o := tiny(t)
		o.Repetitions = 1 << 20
		n := 0
		o.Progress = func(string) {
			if n++; n == 1+runs+1 { // the plan comes first
				cancel()
			}
		}
		var got []*Result
		err := Run(ctx, o, func(r *Result) error {
			got = append(got, r)
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		if runs == 1 {
			require.Empty(t, got)
			continue
		}
		require.Len(t, got, 1)
		require.Len(t, got[0].SamplesNS, runs-1)
		require.Positive(t, got[0].AvgTS)
	}
}

// What a repetition did before it failed is of no result.
func TestBrokenRepetition(t *testing.T) {
	o := tiny(t)
	o.Profile, o.Peaks, o.Repetitions = true, Peaks{Int8: 100, F32: 50}, 3
	whole := results(t, o)[0]
	disk := failing{run: 3}
	o.Runtime.Source = disk.open
	o.Progress = disk.progress
	var got []*Result
	err := Run(t.Context(), o, func(r *Result) error {
		got = append(got, r)
		return nil
	})
	require.ErrorIs(t, err, errBroken)
	require.Len(t, got, 1)
	require.Len(t, got[0].SamplesNS, 2)
	products := func(r *Result) map[string]int64 {
		out := map[string]int64{}
		for _, row := range r.Profile.Instructions {
			out[row.Phase+" "+row.Op] = row.MultiplyAdds
		}
		return out
	}
	require.Equal(t, products(whole), products(got[0]))
	shares := func(r *Result) []float64 { // times the run's time, which differs
		return []float64{*r.Int8Share * float64(r.AvgNS), *r.BF16Share * float64(r.AvgNS)}
	}
	require.InEpsilonSlice(t, shares(whole), shares(got[0]), 1e-6)
}

var errBroken = errors.New("broken disk")

// failing is a disk on which the last record of a run cannot be read.
type failing struct {
	run  int // from 1 on, the warm-up apart
	runs atomic.Int64
	last atomic.Int64 // offset in the file of dense records
}

func (f *failing) progress(text string) {
	if strings.Contains(text, ": run ") {
		f.runs.Add(1)
	}
}

func (f *failing) open(path string) (pager.Source, error) {
	s, err := pager.OpenFile(path)
	if err != nil || filepath.Base(path) != layout.DenseName {
		return s, err
	}
	return failingFile{s, f}, nil
}

type failingFile struct {
	pager.Source
	*failing
}

func (f failingFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	switch f.runs.Load() {
	case 0:
		f.last.Store(off)
	case int64(f.run):
		if off == f.last.Load() {
			return errBroken
		}
	}
	return f.Source.ReadAt(ctx, p, off)
}

func TestErrors(t *testing.T) {
	o := tiny(t)
	broken := errors.New("broken pipe")
	require.ErrorIs(t, Run(t.Context(), o, func(*Result) error { return broken }), broken)
	o.Packages = []string{t.TempDir()}
	require.ErrorContains(t, Run(t.Context(), o, nil), "model.fb")
	o = tiny(t)
	o.Runtime.Memory = 1 << 10
	require.ErrorContains(t, Run(t.Context(), o, nil), "memory budget too small")
	o.Runtime.Memory, o.Prompts = 256<<20, []int{1, 1 << 20}
	require.ErrorContains(t, Run(t.Context(), o, nil), "prompt of 1048576 tokens: memory budget too small", "before anything is measured")
}

// Tokens follow from the seed and their number, and are of the vocabulary.
func TestTokens(t *testing.T) {
	require.Equal(t, tokens(1, 100, 7), tokens(1, 100, 7))
	require.NotEqual(t, tokens(1, 100, 7), tokens(2, 100, 7))
	seen := map[int32]bool{}
	for _, id := range tokens(1, 1000, 7) {
		seen[id] = true
	}
	require.Len(t, seen, 7)
}

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		samples       []int64
		mean, dev     float64
		medianOfThese int64
	}{{[]int64{5}, 5, 0, 5}, {[]int64{4, 2}, 3, 1.4142135, 3}, {[]int64{9, 1, 2}, 4, 4.3588989, 2}} {
		mean, dev := spread(c.samples)
		require.InDeltaSlice(t, []float64{c.mean, c.dev}, []float64{mean, dev}, 1e-6, "%v", c.samples)
		require.Equal(t, c.medianOfThese, median(c.samples), "%v", c.samples)
	}
	require.InDelta(t, 0.5, *share(500, 10, 100, 2), 1e-12) // 1000 operations in 10 ns are 100 GOPS
	require.Nil(t, share(500, 10, 0, 2))
}
