package qnn

import (
	"fmt"
	"math"

	"estream/ir"
	"estream/lower/qnn/native"
)

// A unit is rows of 16 bits, each of length 1, and what they are to be multiplied by.
type unit struct{ rows, length string }

// wholeBytes multiplies by w8 in whole numbers. Nobody has to know how large
// activations are: rows of length 1 meet codes, 128ths, of no more than sqrt(K),
// so that neither operand nor result leaves its 16 bits.
func (l *lowering) wholeBytes(x string, w *ir.Value, out func() string) string {
	c, m, k := l.codesOf(w), l.dims(x)[0], l.dims(x)[1]
	u := l.unitRows(x)
	y := l.node("MatMul", l.wide(math.Sqrt(float64(k)), m, c.rows), []string{u.rows, l.integers(c, 0, 1.0/128, c.rows, k)}, transposed()...)
	y = l.node("ElementWiseMultiply", l.temp(m, c.rows), []string{l.real(y), l.scales(c, 1, ".scale", 1, c.rows)})
	y = l.node("ElementWiseMultiply", l.temp(m, c.rows), []string{y, l.factor(c, 128)})
	return l.node("ElementWiseMultiply", out(), []string{y, u.length})
}

// wide is a tensor of 16 bits for numbers within ±top.
func (l *lowering) wide(top float64, dims ...int) string {
	q := native.Quant{Scale: float32(top / (1 << 15)), Offset: -1 << 15}
	return l.tensor(native.Tensor{Kind: native.Native, Type: native.UFixed16, Dims: dims, Quant: q})
}

// unitRows divides the rows of x by their lengths, once for all that x is
// multiplied by. Numbers are squared as shares of the largest, lest they overflow.
func (l *lowering) unitRows(x string) unit {
	rows, length := fmt.Sprint("unit ", x), fmt.Sprint("length ", x)
	if l.made[rows] == "" {
		d := l.dims(x)
		each := func(op string, in ...string) string { return l.node(op, l.temp(d...), in) }
		column := func(op string, in string, p ...native.Param) string {
			return l.node(op, l.temp(d[0], 1), []string{in}, p...)
		}
		axes, keep := native.U32s("axes", 1), native.Bool("keep_dims", true)
		top := column("ReduceMax", each("ElementWiseAbs", x), axes, keep)
		top = l.node("ElementWiseMaximum", l.temp(d[0], 1), []string{top, l.constant(0x1p-14, 1)})
		small := each("ElementWiseDivide", x, top)
		norm := column("ElementWiseSquareRoot", column("ReduceSum", each("ElementWiseMultiply", small, small), axes, keep))
		norm = l.node("ElementWiseMaximum", l.temp(d[0], 1), []string{norm, l.constant(1, 1)})
		l.made[length] = l.node("ElementWiseMultiply", l.temp(d[0], 1), []string{norm, top})
		l.made[rows] = l.node("Quantize", l.wide(1, d...), []string{each("ElementWiseDivide", x, l.made[length])})
	}
	return unit{l.made[rows], l.made[length]}
}
