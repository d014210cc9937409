package calibrate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/pager"
	"estream/passes"
	"estream/runtime"
	"estream/tools/calibrate"
)

// TestDesignIsWhatRuns: what a design has of a batch is what a device with its tiers
// and policy reports of the same batch, layer by layer, whatever the means.
func TestDesignIsWhatRuns(t *testing.T) {
	tiers := passes.Tiers{T: []int{32}, S: []int{1}, R: []int{32}}
	b := static.New(lowertest.NewNPU(), tiers)
	dir, ids := packedFor(t, b, "f32"), text(t, 32)
	cost := passes.Cost{Launch: 6, Body: 1, Row: 1, HostExpert: 1, HostRow: 3}
	for _, c := range []struct {
		name string
		wish calibrate.Wish
		does func(passes.Work) bool
	}{
		{"second calls", calibrate.Wish{Rows: []int{2, 5}, Groups: []int{1}}, func(w passes.Work) bool { return w.Overflow > 50 }},
		{"groups", calibrate.Wish{Rows: []int{2, 5}, Groups: []int{1, 3}}, func(w passes.Work) bool { return w.Launches < w.Bodies }},
		{"host", calibrate.Wish{Rows: []int{4, 6}, Groups: []int{1, 2}, Host: true}, func(w passes.Work) bool { return w.HostRows > 0 && w.Launches > 0 }},
		{"drops", calibrate.Wish{Rows: []int{4}, Groups: []int{1, 2}, Drop: true}, func(w passes.Work) bool { return w.Dropped > 50 && w.Overflow == 0 }},
		{"drops, and the host", calibrate.Wish{Rows: []int{1, 4}, Groups: []int{1}, Host: true, Drop: true}, func(w passes.Work) bool { return w.Dropped > 0 && w.HostRows > 0 && w.Launches > 0 }},
	} {
		w := c.wish
		w.Cost, w.Call = cost, 8
		policy := static.Policy{Cost: cost, Drop: w.Drop}
		if w.Host {
			policy.Host = host.New(host.Options{})
		}
		own := tiers
		own.R, own.G = w.Rows, w.Groups
		// The device's own routes are counted: rows that are dropped change those of later layers.
		o := runtime.Options{Device: b.With(own, policy), Group: w.Call, Schedule: pager.BeforeRouting}
		m, err := runtime.Open(t.Context(), dir, runtime.Options{Packings: b.Packings()})
		require.NoError(t, err)
		counter, err := calibrate.NewCounter(m.Module(), len(ids))
		require.NoError(t, err)
		require.NoError(t, m.Close())
		counter.Watch(&o)
		m, err = runtime.Open(t.Context(), dir, o)
		require.NoError(t, err)
		res, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{ids}})
		require.NoError(t, err)
		require.NoError(t, m.Close())
		counter.End(true)
		cal, err := counter.Plan("id", w)
		require.NoError(t, err)
		design := cal.Designs[len(cal.Designs)-1]
		var ran []passes.Work
		for _, l := range res.Stats.Work {
			ran = append(ran, l.Work)
		}
		require.Equal(t, ran, design.Layers, "%s: reported, designed", c.name)
		require.True(t, c.does(design.Total), "%s: %+v", c.name, design.Total)
	}
}
