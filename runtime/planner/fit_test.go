package planner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/simulate"
)

// A line is found again from what it gives, also where one of its costs is zero.
func TestFit(t *testing.T) {
	for _, want := range []Line{{1e-4, 2e-6, 3e-9}, {0, 2e-6, 3e-9}, {1e-4, 0, 0}, {0, 0, 3e-9}} {
		var samples []sample
		for _, n := range []int{1, 8, 64, 256, 1024} {
			pairs := float64(n) * float64(n+1) / 2
			samples = append(samples, sample{n, pairs, max(1e-9, want.of(1, n, pairs).Seconds())})
		}
		got := fit(samples)
		for _, n := range []int{40, 700, 3000} {
			pairs := float64(n) * float64(n+1) / 2
			w, g := want.of(1, n, pairs).Seconds(), got.of(1, n, pairs).Seconds()
			require.InEpsilon(t, w, g, 0.02, "%+v: %d rows, fitted %+v", want, n, got)
		}
	}
	require.Zero(t, fit(nil))
}

// A disk is found again from its throughput.
func TestFitDisk(t *testing.T) {
	for _, want := range []simulate.Disk{
		{Rate: 1e9, Latency: 2 * time.Millisecond, Check: 5e9}, {Rate: 3.5e9, Latency: 100 * time.Microsecond, Check: 5e9}, {Rate: 5e8, Latency: 30 * time.Microsecond},
	} {
		var rates []rate
		for bytes := int64(256 << 10); bytes <= mostRead; bytes *= 4 {
			for readers := 1; readers <= 4; readers++ {
				rates = append(rates, rate{readers, bytes, want.Throughput(readers, bytes)})
			}
		}
		got := fitDisk(rates, want.Check)
		require.InEpsilon(t, want.Rate, got.Rate, 0.02, "%+v: %+v", want, got)
		require.InEpsilon(t, float64(want.Latency), float64(got.Latency), 0.1, "%+v: %+v", want, got)
	}
	require.Zero(t, fitDisk(nil, 0).Rate, "a package too small to be read")
}
