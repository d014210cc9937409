package kernel

// Peaks measures, in some milliseconds, how many operations a thread can do at
// most, in 10^9 a second (a multiply-add is two): int8, bfloat16 and float32.
func (s *Set) Peaks() (int8, bf16, f32 float64) { return s.peakInt8(), s.peakBF16(), s.peakF32() }
