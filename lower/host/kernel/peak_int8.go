package kernel

import "time"

// peakInt8 measures, in a few milliseconds, how many products and additions of
// int8 a thread can do, in GOPS: what MulA8 would do were its operands always in
// registers. It is 0 for plain Go.
func (s *Set) peakInt8() float64 {
	if s.tile == nil {
		return 0
	}
	const n, tries = 20000, 40
	best := 0.0
	for range tries {
		start := time.Now()
		ops := n * s.tile.peak(n)
		best = max(best, float64(ops)/float64(time.Since(start).Nanoseconds()))
	}
	return best
}
