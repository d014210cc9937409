package main

import "math"

// Polynomials are minimax fits: of (e^r-1-r)/r² for |r| <= ln(2)/2, relative error of
// e^r 3e-9; of sin(rπ/2)/r and cos(rπ/2) in r² for |r| <= 1/2, relative error 5e-12
// and absolute error 7e-14. Highest power first.
var (
	expFit = []float64{0.0013814598568153867, 0.008368716878486355, 0.04166838804689509, 0.16666520631723103, 0.49999993447788676, 1, 1}
	sinFit = []float64{0.00015819417433953577, -0.004681260230687986, 0.07969258178917822, -0.6459640961001478, 1.5707963267877354}
	cosFit = []float64{-2.485691865478663e-05, 0.0009191658189131385, -0.02086346901624778, 0.2536695072632224, -1.2337005501249214, 1}
)

var (
	signBit   = single(float32(math.Copysign(0, -1)))
	signBit64 = double(math.Copysign(0, -1))
	infinity  = single(float32(math.Inf(1)))
	lowest    = single(float32(math.Inf(-1)))
	absolute  = whole(math.MaxInt32) // all bits but the sign
)

// exp sets d to e^x for x <= 0 or NaN, to a rounding or two: x = n*ln2 + r. It
// spoils x and n. What is below the subnormals is 0.
func (v *vec) exp(d, x, n operand) {
	v.set(d, single(-104))
	v.op("max", x, d, x)
	v.op("mul", n, x, single(math.Log2E))
	v.round(n, n)
	high := float32(math.Ln2)
	v.op("fnma", x, n, single(high))
	v.op("fnma", x, n, single(float32(math.Ln2-float64(high))))
	v.set(d, single(float32(expFit[0])))
	for _, c := range expFit[1:] {
		v.op("horner", d, x, single(float32(c)))
	}
	v.scale(d, n, x)
}

// logistic returns two registers whose quotient is 1/(1+e^-x): with e = e^-|x|,
// e where x is negative, else 1, and 1+e. So nothing overflows.
func (v *vec) logistic(x operand) (over, under operand) {
	over, under, n := v.reg(), v.reg(), v.reg()
	v.op("or", over, x, signBit)
	v.exp(under, over, n)
	v.set(n, single(1))
	v.choose(over, x, under, n, false)
	v.op("add", under, under, n)
	return over, under
}

// total holds sums in f64 of f32 lanes.
type total struct{ low, high, a, b operand }

func (v *vec) total() total {
	t := total{v.reg(), v.reg(), v.reg(), v.reg()}
	v.set(t.low, double(0))
	v.set(t.high, double(0))
	return t
}

// addTo adds x, or its squares.
func (v *vec) addTo(t total, x operand, squares bool) {
	v.widen(t.a, t.b, x)
	if squares {
		v.op("fma.d", t.low, t.a, t.a)
		v.op("fma.d", t.high, t.b, t.b)
		return
	}
	v.op("add.d", t.low, t.low, t.a)
	v.op("add.d", t.high, t.high, t.b)
}

// sumOf returns the sum of all lanes, in all lanes, as f64.
func (v *vec) sumOf(t total) operand {
	v.op("add.d", t.low, t.low, t.high)
	v.reduce("add.d", t.low, t.a)
	return t.low
}

// sincos returns sine and cosine in f32 of the angles turn * freq, turn a vector
// of one f64 and freq f64 in quarter turns. Rounded to a whole number q of quarters,
// an angle is q + r; added to 3<<51, the low bits of the sum are those of q.
func (v *vec) sincos(turn operand, freq *pointer) (sin, cos operand) {
	sines, cosines := [2]operand{v.reg(), v.reg()}, [2]operand{v.reg(), v.reg()}
	q, r, z := v.reg(), v.reg(), v.reg()
	for half := range 2 {
		sin, cos := sines[half], cosines[half]
		v.loadDouble(r, freq, half)
		v.op("mul.d", r, r, turn)
		v.op("add.d", q, r, double(3<<51))
		v.op("sub.d", z, q, double(3<<51))
		v.op("sub.d", r, r, z)
		v.op("mul.d", z, r, r)
		v.polynomial(sin, z, sinFit)
		v.op("mul.d", sin, sin, r)
		v.polynomial(cos, z, cosFit)
		v.shift("left.d", r, q, 63) // odd quarters swap them
		v.choose(z, r, cos, sin, true)
		v.choose(cos, r, sin, cos, true)
		v.shift("left.d", r, q, 62) // the sine changes sign with bit 1 of q,
		v.op("and.d", r, r, signBit64)
		v.op("xor.d", sin, z, r)
		v.op("add.d", q, q, double(1)) // the cosine with that of q + 1
		v.shift("left.d", r, q, 62)
		v.op("and.d", r, r, signBit64)
		v.op("xor.d", cos, cos, r)
		v.field(r, "scale", 8)
		v.op("mul.d", sin, sin, r)
		v.op("mul.d", cos, cos, r)
	}
	v.narrow(sines[0], sines[0], sines[1])
	v.narrow(cosines[0], cosines[0], cosines[1])
	return sines[0], cosines[0]
}

// polynomial sets d to the polynomial of z.
func (v *vec) polynomial(d, z operand, fit []float64) {
	v.set(d, double(fit[0]))
	for _, c := range fit[1:] {
		v.op("horner.d", d, z, double(c))
	}
}
