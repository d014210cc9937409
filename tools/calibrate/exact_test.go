package calibrate_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/passes"
	"estream/runtime"
	"estream/runtime/tokenizer"
	"estream/tools/calibrate"
	"estream/tools/pack"
	"estream/tools/quality"
)

const trained = "../../testdata/trained-small"

// packedFor packs the small trained model for the fake NPU.
func packedFor(t *testing.T, b *static.Backend, encoding string) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "npu")
	_, err = pack.Run(t.Context(), trained, dir, pack.Options{
		Encoding: e, Backend: b.Name(), Packing: b.Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

// text returns the first tokens of the held-out text.
func text(t *testing.T, tokens int) []int32 {
	t.Helper()
	tok, err := tokenizer.Open(filepath.Join(trained, "tokenizer.json"))
	require.NoError(t, err)
	docs, err := quality.Read[quality.Document](filepath.Join(trained, "heldout.jsonl"))
	require.NoError(t, err)
	blocks, err := quality.Blocks(tok, 0, docs[:1], tokens)
	require.NoError(t, err)
	return blocks[0]
}

func logits(t *testing.T, dir string, o runtime.Options, ids []int32) []float32 {
	t.Helper()
	m, err := runtime.Open(t.Context(), dir, o)
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{ids}, Logits: runtime.All})
	require.NoError(t, err)
	return res.Logits
}

// worst returns the largest difference, over the largest magnitude.
func worst(got, want []float32) float64 {
	d, most := 0.0, 0.0
	for i := range want {
		d, most = max(d, math.Abs(float64(got[i])-float64(want[i]))), max(most, math.Abs(float64(want[i])))
	}
	return d / most
}

// TestExact runs the trained model with tiers that most experts overflow, launches
// of several experts, and experts on the host from the device's memory: the logits
// are the host's. Where rows are dropped they are not, and that is told.
func TestExact(t *testing.T) {
	npu := lowertest.NewNPU()
	b := static.New(npu, passes.Tiers{T: []int{32}, S: []int{1}, R: []int{32}})
	dir := packedFor(t, b, "f32")
	ids := text(t, 32)
	want := logits(t, dir, runtime.Options{Packings: b.Packings()}, ids)
	h := host.New(host.Options{})
	for _, c := range []struct {
		name   string
		r, g   []int
		policy static.Policy
		does   func(passes.Work) bool
	}{
		{"overflow", []int{1, 3}, nil, static.Policy{}, func(w passes.Work) bool { return w.Overflow > 100 && w.Launches == w.Bodies }},
		{"groups", []int{2, 5}, []int{1, 2, 3}, static.Policy{Cost: passes.Cost{Launch: 4, Body: 1, Row: 1}}, func(w passes.Work) bool { return w.Overflow > 50 && w.Launches < w.Bodies }},
		{"host", []int{4, 6}, []int{1, 2}, static.Policy{Host: h, Cost: passes.Cost{Launch: 9, Body: 1, Row: 1, HostExpert: 1, HostRow: 3}}, func(w passes.Work) bool { return w.Overflow > 20 && w.HostRows > 20 && w.Launches > 0 }},
		{"all on the host", []int{4}, nil, static.Policy{Host: h, Cost: passes.Cost{Launch: 1, HostRow: 1e-9}}, func(w passes.Work) bool { return w.Launches == 0 && w.HostRows == w.Rows }},
		{"and nothing to drop there", []int{4}, nil, static.Policy{Host: h, Drop: true, Cost: passes.Cost{Launch: 1, HostRow: 1e-9}}, func(w passes.Work) bool { return w.Dropped == 0 && w.HostRows == w.Rows }},
		{"drops", []int{4}, nil, static.Policy{Drop: true}, func(w passes.Work) bool { return w.Overflow == 0 && w.Dropped > 100 }},
	} {
		var sum passes.Work
		c.policy.Report = func(_ string, w passes.Work) { sum.Add(w) }
		tiers := b.Tiers()
		tiers.R, tiers.G = c.r, c.g
		got := logits(t, dir, runtime.Options{Device: b.With(tiers, c.policy)}, ids)
		require.Equal(t, 4*32*4, sum.Rows+sum.Dropped, c.name)
		require.True(t, c.does(sum), "%s: %+v", c.name, sum)
		off := worst(got, want)
		t.Logf("%s: %.1e of the largest logit off; %+v", c.name, off, sum)
		if sum.Dropped > 0 {
			require.Greater(t, off, 1e-2, "%s: rows that nobody misses", c.name)
			continue
		}
		require.Less(t, off, 1e-5, c.name)
	}
	require.Zero(t, npu.Live(), "device memory that nobody freed")
}

// TestHostReadsTheDevicesBytes runs w4 experts on the device alone, and most of them
// on the host, which reads the device's packing.
func TestHostReadsTheDevicesBytes(t *testing.T) {
	tiers := passes.Tiers{T: []int{16}, S: []int{1}, R: []int{16}}
	b := static.New(lowertest.NewNPU(), tiers)
	dir, ids := packedFor(t, b, "w4"), text(t, 16)
	var sum passes.Work
	with := b.With(tiers, static.Policy{
		Host: host.New(host.Options{}), Cost: passes.Cost{Launch: 5, HostRow: 1},
		Report: func(_ string, w passes.Work) { sum.Add(w) },
	})
	want := logits(t, dir, runtime.Options{Device: b}, ids)
	require.Less(t, worst(logits(t, dir, runtime.Options{Device: with}, ids), want), 1e-5)
	require.Positive(t, sum.Launches)
	require.Greater(t, sum.HostRows, 64)
}

// TestCounterCountsTheModelsRoutes compares with the routes that device calls have.
func TestCounterCountsTheModelsRoutes(t *testing.T) {
	b := static.New(lowertest.NewNPU(), passes.Tiers{T: []int{32}, S: []int{1}, R: []int{32}})
	dir := packedFor(t, b, "w4")
	m, err := runtime.Open(t.Context(), dir, runtime.Options{Packings: b.Packings()})
	require.NoError(t, err)
	defer m.Close()
	c, err := calibrate.NewCounter(m.Module(), 8)
	require.NoError(t, err)
	rows := 0
	o := runtime.Options{Packings: b.Packings(), Chunk: 5, Events: func(e runtime.Event) {
		if e.Kind == runtime.ProgramRan && e.Count > 0 {
			rows += e.Rows
		}
	}}
	c.Watch(&o)
	ids := text(t, 20)
	require.Len(t, logits(t, dir, o, ids), 20*2048)
	c.End(true)
	require.Equal(t, []int{20, 2}, []int{c.Tokens(), c.Batches()})
	cal, err := c.Plan("id", calibrate.Wish{Cost: passes.Cost{Launch: 1, Row: 1}, Tiers: 2, Groups: []int{1}})
	require.NoError(t, err)
	sum := 0
	for _, l := range cal.Layers {
		for _, n := range l.Counts {
			sum += n
		}
		require.Equal(t, 16*2, func() (n int) {
			for _, r := range l.Rows {
				n += r[1]
			}
			return n
		}())
	}
	require.Equal(t, rows, sum)
	require.True(t, slices.IsSorted(cal.Choice.Rows))
}
