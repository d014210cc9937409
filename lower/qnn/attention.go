package qnn

import (
	"estream/ir"
	"estream/lower/qnn/native"
)

// attention is products batched by groups of heads that share keys and values:
// with r heads a group, queries are [G,r*T,D].
func attention(l *lowering, v *ir.Value) {
	q, keys := extents(v.Args[0].Type), extents(v.Args[3].Type)
	t, h, d, g := q[0], q[1], q[2], keys[1]
	past := v.Args[1].Type.Dims[0].N + t
	width := v.Type.Last().N
	scaled := l.node("ElementWiseMultiply", l.temp(q...), []string{l.operand(v.Args[0]), l.constant(float32(v.Attr.(ir.AttentionAttr).Scale), 1)})
	queries := l.reshaped(l.headsFirst(scaled), g, h/g*t, d)
	k, vs := l.stacked(v.Args[1], v.Args[3]), l.stacked(v.Args[2], v.Args[4])
	scores := l.node("MatMul", l.temp(g, h/g*t, past), []string{queries, k}, transposed()...)
	mask := l.reshaped(l.operand(v.Args[5]), 1, t, past)
	seen := l.node("ElementWiseAdd", l.temp(h, t, past), []string{l.reshaped(scores, h, t, past), mask})
	shares := l.node("Softmax", l.temp(h, t, past), []string{seen}, native.U32("axis", 2), native.F32("beta", 1))
	mixed := l.node("MatMul", l.temp(g, h/g*t, width), []string{l.reshaped(shares, g, h/g*t, past), vs}, plainProduct()...)
	mixed = l.reshaped(mixed, h, t, width)
	if l.half() { // whose shares add up to 1 within 3e-3 only
		sums := l.node("ReduceSum", l.temp(h, t, 1), []string{shares}, native.U32s("axes", 2), native.Bool("keep_dims", true))
		mixed = l.node("ElementWiseDivide", l.temp(h, t, width), []string{mixed, sums})
	}
	l.swapped(mixed, l.result(v))
}

// stacked returns past rows, then new ones, a head after another: [G,S+T,D].
func (l *lowering) stacked(past, rows *ir.Value) string {
	dims := extents(rows.Type)
	dims[0] += past.Type.Dims[0].N
	return l.headsFirst(l.node("Concat", l.temp(dims...), []string{l.operand(past), l.operand(rows)}, native.U32("axis", 0)))
}

// headsFirst returns [H,T,D] of [T,H,D].
func (l *lowering) headsFirst(x string) string {
	d := l.dims(x)
	return l.swapped(x, l.temp(d[1], d[0], d[2]))
}

// swapped writes x with its first two axes exchanged.
func (l *lowering) swapped(x, out string) string {
	return l.node("Transpose", out, []string{x}, native.U32s("perm", 1, 0, 2))
}
