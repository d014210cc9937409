package quant

import (
	"math"

	"estream/ir"
)

// symmetric chooses codes -top..top and positive scales: the best scale of each
// group first, then the factor, then codes by the scales as they are stored.
func (m *Matrix) symmetric(w []float32) {
	g := m.DType.Group(m.K)
	s := searcher{a: make([]float64, g)}
	best := s.best
	if m.DType == ir.W8 {
		best = func(w []float32) float64 { return storable(largest(w)/127, 127) }
	}
	scales, most := make([]float64, len(m.Scale)), 0.0
	for i := range scales {
		scales[i] = best(w[i*g : (i+1)*g])
		most = max(most, scales[i])
	}
	m.Factor = float32(math.Ldexp(1, exponent(most)))
	for i, v := range scales {
		m.store(i, w[i*g:(i+1)*g], v)
	}
}

// exponent is that of the power of two which brings the largest scale into [0.5, 1).
func exponent(most float64) int {
	if most == 0 {
		return 0
	}
	_, exp := math.Frexp(most)
	return max(exp, -126) // what f32 holds without loss
}

// store sets group i: the scale over Factor, not below the type's least, and the
// codes of w by the scale as it is stored.
func (m *Matrix) store(i int, w []float32, scale float64) {
	top, floor := 7.0, 0x1p-10
	if m.DType == ir.W8 {
		top, floor = 127, 0x1p-14
	}
	stored := max(floor, scale/float64(m.Factor))
	m.Scale[i] = F16(float32(stored))
	nearest(m.Q[i*len(w):(i+1)*len(w)], w, stored*float64(m.Factor), top)
}

// nearest sets q to the codes -top..top that are nearest to w/scale.
func nearest(q []int8, w []float32, scale, top float64) {
	inv := 1 / scale
	for i, v := range w {
		q[i] = int8(max(-top, min(top, roundEven(float64(v)*inv))))
	}
}

func largest(w []float32) float64 {
	var most uint32 // bits without sign order as magnitudes do
	for _, v := range w {
		most = max(most, magnitude(v))
	}
	return float64(math.Float32frombits(most))
}

// roundEven rounds |x| < 1<<51 to a whole number, halves to even: next to the
// constant, float64 has no fraction bits. The conversion keeps x from being a
// product that is not rounded before it is added; so packages are the same
// wherever they are made.
func roundEven(x float64) float64 { return float64(x) + 3<<51 - 3<<51 }

// storable returns what is nearest to x of the scales that f16 holds beside a
// factor, of 11 significant bits, and that times top are finite in f32.
func storable(x, top float64) float64 {
	const cut = 1<<42 - 1
	b := math.Float64bits(x)
	b += cut/2 + b>>42&1
	return math.Float64frombits(min(b, math.Float64bits(math.MaxFloat32/top)) &^ cut)
}
