package planner

import (
	"cmp"
	"math"
	"slices"
	"time"

	"estream/pager/simulate"
)

// A sample is how long rows took that were computed together.
type sample struct {
	rows, count int // count of experts
	pairs       float64
	seconds     float64
}

// line is that of no negative cost from which samples differ least, each by its share: least squares, one cost after
// another until nothing changes.
func line(samples []sample) Line {
	var cost [3]float64
	for range 3000 {
		for j := range cost {
			product, square := 0.0, 0.0
			for _, s := range samples {
				x := [3]float64{1 / s.seconds, float64(s.rows) / s.seconds, s.pairs / s.seconds}
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

// points are the medians of samples of one expert each, two for each doubling of rows.
func points(samples []sample) (out []Point) {
	by := map[int][]sample{}
	for _, s := range samples {
		k := int(math.Round(2 * math.Log2(float64(s.rows))))
		by[k] = append(by[k], s)
	}
	for _, group := range by {
		slices.SortFunc(group, func(a, b sample) int { return cmp.Compare(a.seconds/float64(a.rows), b.seconds/float64(b.rows)) })
		mid := group[len(group)/2]
		out = append(out, Point{mid.rows, mid.seconds})
	}
	slices.SortFunc(out, func(a, b Point) int { return cmp.Compare(a.Rows, b.Rows) })
	return out
}

// split takes what a call costs, by samples of groups of several experts, out of points that each have a call in them.
func (c *Class) split(groups []sample) {
	var calls []float64
	for _, s := range groups {
		if s.count > 1 && s.rows >= 2*s.count { // so many rows that hardly an expert has none
			alone := float64(s.count) * c.expert(s.rows/s.count)
			calls = append(calls, (alone-s.seconds)/float64(s.count-1))
		}
	}
	if len(calls) == 0 || len(c.Expert) == 0 {
		return
	}
	slices.Sort(calls)
	c.Call = min(max(0, calls[len(calls)/2]), c.Expert[0].Seconds)
	for i := range c.Expert {
		c.Expert[i].Seconds -= c.Call
	}
}

// A rate is the bytes a second of so many readers that each read so many bytes at a time.
type rate struct {
	readers int
	bytes   int64
	perS    float64
}

// disk is the one of a check's rate whose throughput differs least from rates, each by its share.
func disk(rates []rate, check float64) simulate.Disk {
	most := 0.0
	for _, r := range rates {
		most = max(most, r.perS)
	}
	var best simulate.Disk
	least := math.Inf(1)
	for latency := 1e3; latency < 1e8; latency *= 1.1 { // ns
		for share := 0.7; share < 1.4; share += 0.01 {
			d, off := simulate.Disk{Rate: most * share, Latency: time.Duration(latency), Check: check}, 0.0
			for _, r := range rates {
				x := math.Log(d.Throughput(r.readers, r.bytes) / r.perS)
				off += x * x
			}
			if off < least {
				best, least = d, off
			}
		}
	}
	return best
}
