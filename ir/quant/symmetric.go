package quant

import (
	"math"
	"slices"

	"estream/ir"
)

// symmetric chooses codes and positive scales: the best scale of each group, and
// codes by it; then the factor, unless it is given; then scales as they are stored.
// It reports whether all weights are finite.
func (m *Matrix) symmetric(w []float32, factor float32) bool {
	g := m.DType.Group(m.K)
	best := func(scales []float64, w []float32) bool { return largest127(scales, w, g) }
	if m.DType != ir.W8 {
		best = (&searcher{a: make([][lanes]float32, g)}).best
	}
	scales := make([]float64, len(m.Scale))
	for i := 0; i < len(scales); i += lanes {
		some := scales[i:min(i+lanes, len(scales))]
		if !best(some, w[i*g:]) {
			return false
		}
		for j, v := range some { // while the weights are at hand
			m.code(i+j, w, v)
		}
	}
	if m.Factor = factor; factor == 0 {
		m.Factor = float32(math.Ldexp(1, exponent(slices.Max(scales))))
	}
	m.store(scales, w)
	return true
}

// largest127 sets scales to max|w|/127 of groups of g, and reports whether the
// weights are finite.
func largest127(scales []float64, w []float32, g int) bool {
	finite := true
	for i := range scales {
		most := float64(Largest(w[i*g : (i+1)*g]))
		finite = finite && most <= math.MaxFloat32
		scales[i] = storable(most/127, 127)
	}
	return finite
}

// exponent is that of the power of two which brings the largest scale into [0.5, 1).
func exponent(most float64) int {
	if most == 0 {
		return 0
	}
	_, exp := math.Frexp(most)
	return max(exp, -126) // what f32 holds without loss
}

// store sets the scales over Factor. Those below the type's least are raised to it,
// and the codes of their groups chosen again.
func (m *Matrix) store(scales []float64, w []float32) {
	floor := 0x1p-10
	if m.DType == ir.W8 {
		floor = 0x1p-14
	}
	for i, v := range scales {
		stored := v / float64(m.Factor)
		if stored < floor {
			stored = floor
			m.code(i, w, floor*float64(m.Factor))
		}
		m.Scale[i] = F16(float32(stored))
	}
}

// code sets the codes of group i of w to the nearest to w/scale, or to anything if
// scale is 0.
func (m *Matrix) code(i int, w []float32, scale float64) {
	top := int8(7)
	if m.DType == ir.W8 {
		top = 127
	}
	g := m.DType.Group(m.K)
	nearest(m.Q[i*g:(i+1)*g], w[i*g:(i+1)*g], scale, top)
}

// even is where float64 has no fraction bits, and a whole number that is added is
// in the lowest.
const even = 3 << 51

// roundEven rounds |x| < 1<<51 to a whole number, halves to even. The conversion
// keeps x from being a product that is not rounded before it is added; so packages
// are the same wherever they are made.
func roundEven(x float64) float64 { return float64(x) + even - even }

// storable returns what is nearest to x of the scales that f16 holds beside a
// factor, of 11 significant bits, and that times top are finite in f32.
func storable(x, top float64) float64 {
	const cut = 1<<42 - 1
	b := math.Float64bits(x)
	b += cut/2 + b>>42&1
	return math.Float64frombits(min(b, math.Float64bits(math.MaxFloat32/top)) &^ cut)
}
