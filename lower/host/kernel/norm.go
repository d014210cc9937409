package kernel

import "math"

// RMSNorm normalizes rows of len(gain) values: dst = x / sqrt(mean(x²)+eps) * gain,
// the mean in float64, in plain Go the root and the quotient as well. dst may be x.
func (s *Set) RMSNorm(dst, x, gain []float32, eps float64) {
	n := len(gain)
	if s.vec != nil {
		a := byRow(dst, x, n)
		a.y, a.mean, a.eps = gain, 1/float64(n), eps
		s.vec.rowwise(vecRMSNorm, &a)
		return
	}
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

// Softmax normalizes rows of n values to exp(x-max) / sum, the sum in float64, in
// plain Go the rest as well. A NaN, or a row whose largest is infinite, gives NaN.
// dst may be x.
func (s *Set) Softmax(dst, x []float32, n int) {
	if s.vec != nil {
		a := byRow(dst, x, n)
		s.vec.rowwise(vecSoftmax, &a)
		return
	}
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
func (s *Set) Sum(dst, x []float32, n int) {
	if s.vec != nil {
		s.vec.rowwise(vecSum, &vecArgs{dst: dst, x: x[:len(dst)*n], n: n, rows: len(dst), dstStride: 4, xStride: 4 * n})
		return
	}
	for r := range dst {
		sum := 0.0
		for _, v := range x[r*n : (r+1)*n] {
			sum += float64(v)
		}
		dst[r] = float32(sum)
	}
}

// byRow are the arguments of whole rows of n values.
func byRow(dst, x []float32, n int) vecArgs {
	rows := len(x) / n
	return vecArgs{dst: dst[:rows*n], x: x, n: n, rows: rows, dstStride: 4 * n, xStride: 4 * n}
}
