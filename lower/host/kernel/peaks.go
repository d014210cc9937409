package kernel

import "time"

// Peaks measures, in some milliseconds, how many operations a thread can do at
// most, in 10^9 a second (a multiply-add is two): int8, bfloat16 and float32. That
// is what MulA8, MulF32 and Attend would do were their operands always in registers.
// Each is 0 for plain Go, and where there is no such instruction.
func (s *Set) Peaks() (int8, bf16, f32 float64) { return s.peakInt8(), s.peakBF16(), s.peakF32() }

func (s *Set) peakInt8() float64 {
	if s.tile == nil {
		return 0
	}
	return peak(s.tile.peak)
}

func (s *Set) peakBF16() float64 {
	if s.fma == nil || !s.fma.pairs {
		return 0
	}
	return peak(s.fma.peakPairs)
}

func (s *Set) peakF32() float64 {
	if s.fma == nil {
		return 0
	}
	return peak(s.fma.peakFMA)
}

// peak runs n steps of a loop a few times; the loop returns the operations of a step.
func peak(loop func(n int) int) float64 {
	const n, tries = 20000, 40
	best := 0.0
	for range tries {
		start := time.Now()
		ops := n * loop(n)
		best = max(best, float64(ops)/float64(time.Since(start).Nanoseconds()))
	}
	return best
}
