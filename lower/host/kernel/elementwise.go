package kernel

import (
	"math"

	"estream/ir"
)

// A Binary is an operation on two tensors.
type Binary uint8

// The binary operations.
const (
	Add Binary = iota
	Sub
	Mul
	Div
)

// A Form is how the second operand of a Binary stands against the first.
type Form uint8

const (
	Same   Form = iota // an element for each of x
	Vector             // an element for each place of the last axis
	Column             // an element for each row
)

// FormOf returns how y, whose type add and its like accept beside x's, is broadcast.
func FormOf(x, y ir.Type) Form {
	switch {
	case y.Rank() != x.Rank():
		return Vector
	case y.Last() != x.Last():
		return Column
	}
	return Same
}

// Apply sets dst to x op y, x being rows of n values. dst may be x, and y where
// the form is Same.
func (s *Set) Apply(op Binary, dst, x, y []float32, n int, form Form) {
	if s.vec != nil {
		s.vec.apply(op, dst, x, y, n, form)
		return
	}
	switch form {
	case Same:
		op.same(dst, x, y)
	case Vector:
		for i := 0; i < len(x); i += n {
			op.same(dst[i:i+n], x[i:i+n], y)
		}
	case Column:
		for i := 0; i < len(x); i += n {
			op.scalar(dst[i:i+n], x[i:i+n], y[i/n])
		}
	}
}

func (v *vecSet) apply(op Binary, dst, x, y []float32, n int, form Form) {
	k := vecAdd + 2*vecKernel(op)
	if form == Same {
		v.flat(k, &vecArgs{dst: dst[:len(x)], x: x, y: y[:len(x)]})
		return
	}
	a := vecArgs{dst: dst[:len(x)], x: x, y: y, n: n, dstStride: 4 * n, xStride: 4 * n}
	if n > 0 {
		a.rows = len(x) / n
	}
	if form == Column {
		k, a.y, a.yStride = k+1, y[:a.rows], 4
	} else {
		a.y = y[:n]
	}
	v.rowwise(k, &a)
}

func (op Binary) same(dst, x, y []float32) {
	dst, y = dst[:len(x)], y[:len(x)]
	switch op {
	case Add:
		for i, v := range x {
			dst[i] = v + y[i]
		}
	case Sub:
		for i, v := range x {
			dst[i] = v - y[i]
		}
	case Mul:
		for i, v := range x {
			dst[i] = v * y[i]
		}
	case Div:
		for i, v := range x {
			dst[i] = v / y[i]
		}
	}
}

func (op Binary) scalar(dst, x []float32, c float32) {
	dst = dst[:len(x)]
	switch op {
	case Add:
		for i, v := range x {
			dst[i] = v + c
		}
	case Sub:
		for i, v := range x {
			dst[i] = v - c
		}
	case Mul:
		for i, v := range x {
			dst[i] = v * c
		}
	case Div:
		for i, v := range x {
			dst[i] = v / c
		}
	}
}

// Affine sets dst to x*mul + add, each step rounded to f32. dst may be x.
func (s *Set) Affine(dst, x []float32, mul, add float64) {
	m, a := float32(mul), float32(add)
	if s.vec != nil {
		s.vec.flat(vecAffine, &vecArgs{dst: dst[:len(x)], x: x, a: m, b: a})
		return
	}
	for i, v := range x {
		dst[i] = float32(v*m) + a
	}
}

// Clamp holds x within ±limit; NaN stays. dst may be x.
func (s *Set) Clamp(dst, x []float32, limit float64) {
	l := float32(limit)
	if s.vec != nil {
		s.vec.flat(vecClamp, &vecArgs{dst: dst[:len(x)], x: x, a: -l, b: l})
		return
	}
	for i, v := range x {
		dst[i] = max(-l, min(l, v))
	}
}

// SiLU sets dst to x*sigmoid(x). dst may be x.
func (s *Set) SiLU(dst, x []float32) {
	if s.vec != nil {
		s.vec.flat(vecSiLU, &vecArgs{dst: dst[:len(x)], x: x})
		return
	}
	for i, v := range x {
		dst[i] = silu(v)
	}
}

// SiLUMul sets dst to silu(gate) * up, the gated unit of an expert; it equals
// SiLU followed by Mul. dst may be gate or up.
func (s *Set) SiLUMul(dst, gate, up []float32) {
	if s.vec != nil {
		s.vec.flat(vecSiLUMul, &vecArgs{dst: dst[:len(gate)], x: gate, y: up[:len(gate)]})
		return
	}
	for i, v := range gate {
		dst[i] = silu(v) * up[i]
	}
}

// SiLUMulColumns is SiLUMul of rows of n values, which start dstStride apart in
// dst and stride apart in gate and up.
func (s *Set) SiLUMulColumns(dst []float32, dstStride int, gate, up []float32, stride, n, rows int) {
	if s.vec != nil && n > 0 && rows > 0 {
		end := (rows-1)*stride + n
		s.vec.rowwise(vecSiLUMul, &vecArgs{
			dst: dst[:(rows-1)*dstStride+n], x: gate[:end], y: up[:end], n: n, rows: rows, dstStride: 4 * dstStride, xStride: 4 * stride, yStride: 4 * stride,
		})
		return
	}
	for r := range rows {
		at := r * stride
		s.SiLUMul(dst[r*dstStride:][:n], gate[at:at+n], up[at:at+n])
	}
}

func silu(v float32) float32 { return float32(float64(v) / (1 + math.Exp(-float64(v)))) }

// Sigmoid sets dst to 1/(1+exp(-x)). dst may be x.
func (s *Set) Sigmoid(dst, x []float32) {
	if s.vec != nil {
		s.vec.flat(vecSigmoid, &vecArgs{dst: dst[:len(x)], x: x})
		return
	}
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}
