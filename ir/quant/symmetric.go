package quant

import (
	"math"

	"estream/ir"
)

// symmetric chooses codes -top..top and positive scales: the best scale of each
// group first, then the factor, then codes by the scales as they are stored.
func (m *Matrix) symmetric(w []float32) {
	g, top, floor := m.DType.Group(m.K), 7.0, 0x1p-10
	s := searcher{a: make([]float64, g)}
	best := s.best
	if m.DType == ir.W8 {
		top, floor = 127, 0x1p-14
		best = func(w []float32) float64 { return round11(largest(w) / 127) }
	}
	scales, most := make([]float64, len(m.Scale)), 0.0
	for i := range scales {
		scales[i] = best(w[i*g : (i+1)*g])
		most = max(most, scales[i])
	}
	exp := 0
	if most > 0 {
		_, exp = math.Frexp(most)
		exp = max(exp, -126) // what f32 holds without loss
	}
	m.Factor = float32(math.Ldexp(1, exp))
	for i, v := range scales {
		stored := max(floor, v*math.Ldexp(1, -exp))
		m.Scale[i] = F16(float32(stored))
		nearest(m.Q[i*g:(i+1)*g], w[i*g:(i+1)*g], stored*math.Ldexp(1, exp), top)
	}
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

// round11 rounds x to 11 significant bits, what f16 keeps of a normal number.
func round11(x float64) float64 {
	b := math.Float64bits(x)
	b += 1<<41 - 1 + b>>42&1
	return math.Float64frombits(b &^ (1<<42 - 1))
}
