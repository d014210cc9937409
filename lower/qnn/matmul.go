package qnn

import (
	"fmt"

	"estream/ir"
	"estream/lower/qnn/native"
)

func refuseMatMul(v *ir.Value) string {
	w := v.Args[1]
	if w.Type.DType.Encoded() && w.Op != ir.Weight {
		return "an encoded matrix must be a weight"
	}
	if why := formless(w.Type); w.Op == ir.Weight && why != "" {
		return "packing qnn has no form of " + w.Type.String() + ", " + why
	}
	return ""
}

// transposed is the parameters of a product with [N,K]. A matrix that is bound at
// run time goes to MatMul: FullyConnected is wrong for some encodings of those.
func transposed() []native.Param {
	return []native.Param{native.Bool("transpose_in0", false), native.Bool("transpose_in1", true)}
}

func plainProduct() []native.Param {
	return []native.Param{native.Bool("transpose_in0", false), native.Bool("transpose_in1", false)}
}

func matMul(l *lowering, v *ir.Value) {
	w := v.Args[1]
	n, k := w.Type.Dims[0].N, w.Type.Dims[1].N
	m := elements(v.Args[0].Type) / k
	x := l.reshaped(l.operand(v.Args[0]), m, k)
	out := func() string {
		if v.Type.Rank() == 2 {
			return l.result(v)
		}
		return l.temp(m, n)
	}
	var y string
	switch {
	case !w.Type.DType.Encoded():
		y = l.node("MatMul", out(), []string{x, l.operand(w)}, transposed()...)
	case w.Type.DType == ir.W8 && l.whole:
		y = l.wholeBytes(x, w, out)
	case w.Type.DType == ir.W8:
		y = l.bytes(x, w, out)
	case m <= fewRows && l.half():
		y = l.nibblesByBlock(x, w, out)
	default:
		y = l.nibbles(x, w, out)
	}
	if v.Type.Rank() != 2 {
		l.node("Reshape", l.result(v), []string{y})
	}
}

// A codes is the inputs that an encoded weight is bound to.
type codes struct {
	weight int
	name   string
	parts  []part
	rows   int
}

func (l *lowering) codesOf(w *ir.Value) codes {
	parts, _, err := partsOf(w.Type)
	if l.err == nil {
		l.err = err
	}
	return codes{l.weightIndex(w), nameOf(w), parts, w.Type.Dims[0].N}
}

// integers is part i as int8 in the given extents, each worth unit.
func (l *lowering) integers(c codes, i int, unit float32, dims ...int) string {
	t := native.Tensor{Name: c.name, Type: native.SFixed8, Dims: dims, Quant: native.Quant{Scale: unit}}
	return l.shared(t, binding{kind: plain, weight: true, i: c.weight, name: c.name, off: c.parts[i].off, bytes: c.parts[i].len})
}

// scales is part i, f16 numbers, in the given extents.
func (l *lowering) scales(c codes, i int, what string, dims ...int) string {
	t := native.Tensor{Name: c.name + what, Type: native.Float16, Dims: dims}
	return l.cast(l.shared(t, binding{kind: plain, weight: true, i: c.weight, name: t.Name, off: c.parts[i].off, bytes: c.parts[i].len}))
}

// factor is the weight's factor times a number, a scalar.
func (l *lowering) factor(c codes, times float32) string {
	t := native.Tensor{Name: c.name + ".factor", Type: l.float, Dims: []int{1}}
	return l.shared(t, binding{kind: factor, weight: true, i: c.weight, name: t.Name, times: times, to: l.floats(), bytes: int64(t.Bytes())})
}

// real returns the numbers that quantized integers stand for.
func (l *lowering) real(codes string) string {
	return l.node(l.numbers, l.temp(l.dims(codes)...), []string{codes})
}

// shared is input, made once for each name: a weight may be read twice.
func (l *lowering) shared(t native.Tensor, b binding) string {
	key := fmt.Sprint("input ", t.Name, t.Dims)
	if l.made[key] == "" {
		l.made[key] = l.input(t, b)
	}
	return l.made[key]
}

// bytes multiplies by w8. Codes count as 128ths, so that sums of half precision
// do not overflow; scales of columns and the factor come behind.
func (l *lowering) bytes(x string, w *ir.Value, out func() string) string {
	const unit = 1.0 / 128
	c, m := l.codesOf(w), l.dims(x)[0]
	q := l.real(l.integers(c, 0, unit, c.rows, c.parts[0].cols))
	y := l.node("MatMul", l.temp(m, c.rows), []string{x, q}, transposed()...)
	y = l.node("ElementWiseMultiply", l.temp(m, c.rows), []string{y, l.scales(c, 1, ".scale", 1, c.rows)})
	return l.node("ElementWiseMultiply", out(), []string{y, l.factor(c, 1/unit)})
}
