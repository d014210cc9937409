package kernel

import "math"

// RMSNorm normalizes rows of len(gain) values: dst = x / sqrt(mean(x²)+eps) * gain,
// the mean in float64. dst may be x.
func (s *Set) RMSNorm(dst, x, gain []float32, eps float64) {
	n := len(gain)
	for ; len(x) >= n; dst, x = dst[n:], x[n:] {
		sum := 0.0
		for _, v := range x[:n] {
			sum += float64(v) * float64(v)
		}
		inv := 1 / math.Sqrt(sum/float64(n)+eps)
		row := dst[:n]
		for i, v := range x[:n] {
			row[i] = float32(float64(v)*inv) * gain[i]
		}
	}
}

// Softmax normalizes rows of n values to exp(x-max) / sum, in float64. A NaN, or
// a row whose largest is infinite, gives NaN. dst may be x.
func (s *Set) Softmax(dst, x []float32, n int) {
	for ; len(x) >= n; dst, x = dst[n:], x[n:] {
		top := x[0]
		for _, v := range x[1:n] {
			top = max(top, v)
		}
		sum := 0.0
		for _, v := range x[:n] {
			sum += math.Exp(float64(v) - float64(top))
		}
		row := dst[:n]
		for i, v := range x[:n] {
			row[i] = float32(math.Exp(float64(v)-float64(top)) / sum)
		}
	}
}

// Sum sets dst[r] to the sum of row r of n values of x, in float64.
func Sum(dst, x []float32, n int) {
	for r := range dst {
		sum := 0.0
		for _, v := range x[r*n : (r+1)*n] {
			sum += float64(v)
		}
		dst[r] = float32(sum)
	}
}
