package quant

import "math"

// nearest sets q to the codes -top..top that are nearest to w/scale, which is far
// below 1<<31, or to anything if scale is 0.
func nearest(q []int8, w []float32, scale float64, top int8) {
	n := nearestVectors(q, w, 1/scale, top)
	nearestPlain(q[n:], w[n:], 1/scale, top)
}

func nearestPlain(q []int8, w []float32, inv float64, top int8) {
	q = q[:len(w)]
	for i, v := range w {
		code := int32(math.Float64bits(float64(float64(v)*inv) + even)) // see roundEven
		q[i] = int8(max(-int32(top), min(int32(top), code)))
	}
}

// Largest returns the largest magnitude of w, or NaN where a weight is.
func Largest(w []float32) float32 {
	most, n := largestVectors(w)
	for _, v := range w[n:] { // bits without sign order as magnitudes do
		most = max(most, magnitude(v))
	}
	return math.Float32frombits(most)
}
