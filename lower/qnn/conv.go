package qnn

import (
	"estream/ir"
	"estream/lower/qnn/native"
)

// convPast is a product of rows and a column of taps for each tap, added up: there
// are few, and a convolution of QNN's wants its taps in another order.
func convPast(l *lowering, v *ir.Value) {
	x, taps, past := l.operand(v.Args[0]), l.operand(v.Args[1]), l.operand(v.Args[2])
	t, d, k := l.dims(x)[0], l.dims(x)[1], l.dims(taps)[1]
	rows := l.node("Concat", l.temp(k-1+t, d), []string{past, x}, native.U32("axis", 0))
	sum := ""
	for j := range k {
		tap := l.reshaped(l.part(taps, 1, j, j+1), 1, d)
		term := l.node("ElementWiseMultiply", l.temp(t, d), []string{l.part(rows, 0, j, j+t), tap})
		if sum == "" {
			sum = term
			continue
		}
		sum = l.node("ElementWiseAdd", l.temp(t, d), []string{sum, term})
	}
	l.at[v] = sum
}

// part returns from..to-1 of one axis of a matrix.
func (l *lowering) part(name string, axis, from, to int) string {
	dims := l.dims(name)
	ranges := []int32{0, int32(dims[0]), 1, 0, int32(dims[1]), 1}
	ranges[3*axis], ranges[3*axis+1] = int32(from), int32(to)
	out := []int{dims[0], dims[1]}
	out[axis] = to - from
	return l.node("StridedSlice", l.temp(out...), []string{name}, native.I32s("ranges", []int{2, 3}, ranges...))
}
