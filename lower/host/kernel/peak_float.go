package kernel

import "time"

// peakF32 and peakBF16 measure, in a few milliseconds, how many products and
// additions of float32, and of pairs of bfloat16, a thread can do, in GFLOPS: what
// MulF32 and Attend would do were their operands always in registers. Both are 0
// for plain Go, and peakBF16 where there is no such instruction.
func (s *Set) peakF32() float64 {
	if s.fma == nil {
		return 0
	}
	return peak(s.fma.peakFMA)
}

func (s *Set) peakBF16() float64 {
	if s.fma == nil || !s.fma.pairs {
		return 0
	}
	return peak(s.fma.peakPairs)
}

// peak runs n steps of a loop a few times; the loop returns the operations of a step.
func peak(loop func(n int) int) float64 {
	const n, tries = 20000, 20
	best := 0.0
	for range tries {
		start := time.Now()
		ops := n * loop(n)
		best = max(best, float64(ops)/float64(time.Since(start).Nanoseconds()))
	}
	return best
}
