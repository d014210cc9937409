package calibrate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/passes"
	"estream/runtime"
)

func TestDrift(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		counts []int
		want   float64
	}{
		{[]float64{0.5, 0.5}, []int{3, 3}, 0},
		{[]float64{0.5, 0.5}, []int{4, 0}, 0.5},
		{[]float64{1, 0}, []int{0, 7}, 1},
		{[]float64{0.25, 0.75}, []int{1, 1}, 0.25},
		{[]float64{0.25, 0.75}, []int{0, 0}, 0},
	} {
		require.InDelta(t, c.want, Drift(c.shares, c.counts), 1e-12, "%v, %v", c.shares, c.counts)
	}
}

// route draws the ids of tokens, two of four experts each: expert 0 and another for
// what the calibration was made of, 3 and another for what it was not.
func route(r *rand.Rand, tokens int, first int32) (ids []int32) {
	for range tokens {
		ids = append(ids, first, (first+1+int32(r.IntN(3)))%4)
	}
	return ids
}

// TestAlarm: text that is routed as the calibration's raises none, other text does,
// in the layers that it concerns.
func TestAlarm(t *testing.T) {
	c, tap := counter(t, 64)
	r := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		tapped(tap, route(r, 64, 0), route(r, 64, 0))
		c.End(true)
	}
	cal, err := c.Plan("id", Wish{Cost: passes.Cost{Launch: 1, Row: 1}, Tiers: 2, Groups: []int{1}})
	require.NoError(t, err)
	for _, l := range cal.Layers {
		require.Less(t, l.Spread[0], l.Spread[1])
		require.InDelta(t, 1.25*l.Spread[1], l.Threshold, 1e-12)
	}
	w, err := NewWatch(cal, parsed(t, module))
	require.NoError(t, err)
	var o runtime.Options
	w.Watch(&o)
	for range 5 {
		tapped(o.Tap, route(r, 100, 0), route(r, 7, 0))
		require.Empty(t, w.End())
	}
	tapped(o.Tap, route(r, 64, 0), append(route(r, 64, 0), route(r, 64, 3)...))
	alarms := w.End()
	require.Len(t, alarms, 1)
	require.Equal(t, []int{2, 64}, []int{alarms[0].Layer, alarms[0].Tokens})
	require.InDelta(t, 1.0/3, alarms[0].Drift, 0.1)
	tapped(o.Tap, route(r, 64, 3), route(r, 64, 3))
	require.Regexp(t, `^routing drifts from the calibration in 2 of 2 layers, by total variation: layer 1 \(0\.\d\d over 64 tokens, threshold 0\.\d\d\), 2 \(.*\): calibrate on text like this$`, w.Notes()[0])
	tapped(o.Tap, route(r, 1, 3), route(r, 1, 3))
	require.Empty(t, w.Notes(), "a token says nothing")
}

// A calibration of another shape is refused.
func TestWatchOther(t *testing.T) {
	c, tap := counter(t, 1)
	tapped(tap, []int32{0, 1}, []int32{0, 1})
	c.End(true)
	cal, err := c.Plan("id", Wish{Cost: passes.Cost{Launch: 1}, Tiers: 1, Groups: []int{1}})
	require.NoError(t, err)
	other := *cal
	other.Layers = other.Layers[:1]
	_, err = NewWatch(&other, parsed(t, module))
	require.ErrorIs(t, err, ErrOther)
}
