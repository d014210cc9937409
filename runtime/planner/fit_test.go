package planner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/simulate"
)

// A line and the drag of reads are found again from what they give, also where one of its costs is zero.
func TestFit(t *testing.T) {
	for _, want := range []Line{{1e-4, 2e-6, 3e-9}, {0, 2e-6, 3e-9}, {1e-4, 0, 0}, {0, 0, 3e-9}} {
		const drag = 0.5
		var samples []sample
		for i, n := range []int{1, 8, 64, 256, 1024, 1, 8, 64, 256, 1024} {
			pairs := float64(n) * float64(n+1) / 2
			x := sample{rows: n, more: pairs, seconds: max(1e-9, want.of(1, n, pairs).Seconds())}
			if i%3 == 0 { // while half of it was done
				x.read = x.seconds / 2 * (1 + drag)
				x.seconds += x.seconds / 2 * drag
			}
			samples = append(samples, x)
		}
		require.InDelta(t, drag, fitDrag(map[string][]sample{"c.group": samples, "c.tail": {{rows: 1, seconds: 1}}}), 0.051, "%+v", want)
		got := fit(samples, drag, mostOften)
		for _, n := range []int{40, 700, 3000} {
			pairs := float64(n) * float64(n+1) / 2
			w, g := want.of(1, n, pairs).Seconds(), got.of(1, n, pairs).Seconds()
			require.InEpsilon(t, w, g, 0.02, "%+v: %d rows, fitted %+v", want, n, got)
		}
	}
	require.Zero(t, fit(nil, 0, mostOften))
}

// Where times differ, the line gives their sum; one that was held up for long does not count as that long.
func TestFitHeldUp(t *testing.T) {
	var samples []sample
	for i := range 100 {
		samples = append(samples, sample{rows: 10, seconds: []float64{1e-3, 1e-3, 1e-3, 2e-3}[i%4]})
	}
	require.InEpsilon(t, 1.25e-3, fit(samples, 0, mostOften).of(1, 10, 0).Seconds(), 0.01)
	samples[3].seconds = 10
	require.InEpsilon(t, 1.25e-3, fit(samples, 0, mostOften).of(1, 10, 0).Seconds(), 0.05)
}

// A disk is found again from its throughput.
func TestFitDisk(t *testing.T) {
	for _, want := range []simulate.Disk{
		{Rate: 1e9, Latency: 2 * time.Millisecond, Check: 5e9}, {Rate: 3.5e9, Latency: 100 * time.Microsecond, Check: 5e9}, {Rate: 5e8, Latency: 30 * time.Microsecond},
		{Rate: 1e9, Latency: 300 * time.Microsecond, Check: 5e9, Burst: 200 * time.Microsecond, Peak: 4e9},
	} {
		var rates []rate
		for bytes := int64(256 << 10); bytes <= mostRead; bytes *= 4 {
			for readers := 1; readers <= 4; readers++ {
				rates = append(rates, rate{readers, bytes, want.Throughput(readers, bytes)})
			}
		}
		got := fitDisk(rates, simulate.Disk{Check: want.Check, Burst: want.Burst, Peak: want.Peak})
		require.InEpsilon(t, want.Rate, got.Rate, 0.02, "%+v: %+v", want, got)
		require.InEpsilon(t, float64(want.Latency), float64(got.Latency), 0.1, "%+v: %+v", want, got)
	}
	require.Zero(t, fitDisk(nil, simulate.Disk{}).Rate, "a package too small to be read")
}
