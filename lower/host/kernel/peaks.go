package kernel

import "time"

// Peaks measures, in a fifth of a second, how many operations a thread can do at
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

// peak runs a loop again and again, since other work on the machine slows most of
// them; loop(n) takes n steps, and returns the operations of one.
func peak(loop func(n int) int) float64 {
	const n, long = 20000, 60 * time.Millisecond
	best := 0.0
	for begun := time.Now(); time.Since(begun) < long; {
		start := time.Now()
		ops := n * loop(n)
		best = max(best, float64(ops)/float64(time.Since(start).Nanoseconds()))
	}
	return best
}
