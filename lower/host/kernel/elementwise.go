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
func Affine(dst, x []float32, mul, add float64) {
	m, a := float32(mul), float32(add)
	for i, v := range x {
		dst[i] = float32(v*m) + a
	}
}

// Clamp holds x within ±limit; NaN stays. dst may be x.
func Clamp(dst, x []float32, limit float64) {
	l := float32(limit)
	for i, v := range x {
		dst[i] = max(-l, min(l, v))
	}
}

// SiLU sets dst to x*sigmoid(x). dst may be x.
func (s *Set) SiLU(dst, x []float32) {
	for i, v := range x {
		dst[i] = silu(v)
	}
}

// SiLUMul sets dst to silu(gate) * up, the gated unit of an expert; it equals
// SiLU followed by Mul. dst may be gate or up.
func (s *Set) SiLUMul(dst, gate, up []float32) {
	for i, v := range gate {
		dst[i] = silu(v) * up[i]
	}
}

func silu(v float32) float32 { return float32(float64(v) / (1 + math.Exp(-float64(v)))) }

// Sigmoid sets dst to 1/(1+exp(-x)). dst may be x.
func (s *Set) Sigmoid(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}
