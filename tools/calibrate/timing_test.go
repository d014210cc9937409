package calibrate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/passes"
	"estream/runtime"
)

// TestTiming finds the costs again of which times are made.
func TestTiming(t *testing.T) {
	want := passes.Cost{Launch: 100e-6, Body: 20e-6, Row: 3e-6, HostExpert: 50e-6, HostRow: 7e-6}
	timing := new(Timing)
	_, ok := timing.Cost()
	require.False(t, ok)
	at := func(s float64) runtime.Event {
		return runtime.Event{Kind: runtime.ProgramRan, End: time.Time{}.Add(time.Duration(s * 1e9))}
	}
	for i := range 12 {
		e := at(want.HostExpert*2 + want.HostRow*float64(i+3))
		e.First, e.Count, e.Rows = 1, 3, i+3
		timing.host(at(1)) // no experts
		timing.host(e)
		timing.routed([]int{9, i + 1, 0, 2})

		w := passes.Work{Launches: 1 + i%3, Bodies: 2 + i%5, Computed: 16 * (1 + i*i%7)}
		timing.Event(at(1)) // of another program
		timing.Report("expert0", w)
		timing.Event(at(want.Of(w)))
	}
	got, ok := timing.Cost()
	require.True(t, ok)
	for _, c := range [][2]float64{{want.Launch, got.Launch}, {want.Body, got.Body}, {want.Row, got.Row}, {want.HostExpert, got.HostExpert}, {want.HostRow, got.HostRow}} {
		require.InEpsilon(t, c[0], c[1], 1e-3, "%+v", got)
	}
}

// TestFit: causes that cannot be told apart, or would take less than nothing, are
// left out.
func TestFit(t *testing.T) {
	var same, falling observed
	for i := range 5 {
		n := float64(i + 1)
		same.add(6*n, n, n, n)
		falling.add(10-n, 1, n)
	}
	require.InDeltaSlice(t, []float64{6, 0, 0}, same.fit(), 1e-9)
	require.InDeltaSlice(t, []float64{7, 0}, falling.fit(), 1e-9)
}
