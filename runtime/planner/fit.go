package planner

import (
	"math"
	"time"

	"estream/pager/simulate"
)

// A sample is how long it took to compute rows at once, and what there is more of them.
type sample struct {
	rows          int
	more, seconds float64
}

// fit is the line of no negative cost from which samples differ least, each by its share: least squares, one cost after
// another until nothing changes.
func fit(samples []sample) Line {
	var cost [3]float64
	for range 3000 {
		for j := range cost {
			product, square := 0.0, 0.0
			for _, s := range samples {
				x := [3]float64{1 / s.seconds, float64(s.rows) / s.seconds, s.more / s.seconds}
				product += x[j] * (1 - x[0]*cost[0] - x[1]*cost[1] - x[2]*cost[2] + x[j]*cost[j])
				square += x[j] * x[j]
			}
			if square > 0 {
				cost[j] = max(0, product/square)
			}
		}
	}
	return Line{cost[0], cost[1], cost[2]}
}

// A rate is the bytes a second of so many readers that each read so many bytes at a time.
type rate struct {
	readers int
	bytes   int64
	perS    float64
}

// fitDisk is the disk, with checksums at a given rate, whose throughput differs least from rates, each by its share.
func fitDisk(rates []rate, check float64) (best simulate.Disk) {
	most, least := 0.0, math.Inf(1)
	for _, r := range rates {
		most = max(most, r.perS)
	}
	for latency := time.Microsecond; latency < 100*time.Millisecond; latency += latency/10 + 1 {
		for share := 0.7; share < 1.4; share += 0.01 {
			d, off := simulate.Disk{Rate: most * share, Latency: latency, Check: check}, 0.0
			for _, r := range rates {
				off += math.Abs(math.Log(d.Throughput(r.readers, r.bytes) / r.perS)) // not squared: some are disturbed
			}
			if off < least {
				best, least = d, off
			}
		}
	}
	return best
}
