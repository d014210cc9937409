package planner

import (
	"math"
	"strings"
	"time"

	"estream/pager/simulate"
	"estream/passes"
)

// A sample is how long it took to compute rows at once, what there is more of them, and for how many of the seconds
// something was read meanwhile.
type sample struct {
	rows                int
	more, seconds, read float64
}

// alone is how long it would have taken with nothing read.
func (s sample) alone(drag float64) float64 { return s.seconds - s.read*drag/(1+drag) }

// fit is the line of no negative cost that samples, without drag, follow on the average: least squares of differences in
// shares of what the line says. (In shares of what was measured, samples that were held up would hardly count.) None counts
// for more than most times the line.
func fit(samples []sample, drag, most float64) (l Line) {
	for round := range 8 {
		var products [3][4]float64 // of the costs' columns with each other and with the times
		for _, s := range samples {
			y := s.alone(drag)
			scale := y
			if round > 0 {
				scale = max(l.of(1, s.rows, s.more).Seconds(), y/100)
				y = min(y, most*scale)
			}
			x := [4]float64{1 / scale, float64(s.rows) / scale, s.more / scale, y / scale}
			for i := range 3 {
				for j := range x {
					products[i][j] += x[i] * x[j]
				}
			}
		}
		l = solve(products)
	}
	return l
}

// What a sample counts for at most. Being held up now and then is part of what many short groups cost; a body is long and
// seldom, and one that was held up says nothing.
const (
	mostOften  = 2
	mostSeldom = 1.1
)

// solve improves one cost after another until nothing changes.
func solve(a [3][4]float64) Line {
	var cost [3]float64
	for range 3000 {
		for i := range cost {
			rest := a[i][3]
			for j := range cost {
				if j != i {
					rest -= a[i][j] * cost[j]
				}
			}
			if a[i][i] > 0 {
				cost[i] = max(0, rest/a[i][i])
			}
		}
	}
	return Line{cost[0], cost[1], cost[2]}
}

// fitDrag is the drag with which lines differ least from the samples of bodies and groups, by class and phase.
func fitDrag(of map[string][]sample) (best float64) {
	least := math.Inf(1)
	for drag := 0.0; drag < 2; drag += 0.05 {
		off := 0.0
		for what, samples := range of {
			most := float64(mostSeldom)
			if strings.HasSuffix(what, groups) {
				most = mostOften
			} else if !strings.HasSuffix(what, "."+passes.BodyPhase) {
				continue
			}
			line := fit(samples, drag, most)
			for _, s := range samples {
				off += math.Abs(math.Log(s.alone(drag) / max(line.of(1, s.rows, s.more).Seconds(), 1e-9)))
			}
		}
		if off < least {
			best, least = drag, off
		}
	}
	return best
}

// A rate is the bytes a second of so many readers that each read so many bytes at a time.
type rate struct {
	readers int
	bytes   int64
	perS    float64
}

// fitDisk is the disk whose throughput differs least from rates, each by its share, where all but its rate and latency is
// known.
func fitDisk(rates []rate, d simulate.Disk) (best simulate.Disk) {
	most, least := 0.0, math.Inf(1)
	for _, r := range rates {
		most = max(most, r.perS)
	}
	best = d
	for latency := time.Microsecond; latency < 100*time.Millisecond; latency += latency/10 + 1 {
		for share := 0.7; share < 1.4; share += 0.01 {
			d.Rate, d.Latency = most*share, latency
			off := 0.0
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
