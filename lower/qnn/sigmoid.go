package qnn

import "estream/ir"

func sigmoid(l *lowering, v *ir.Value) {
	x := l.operand(v.Args[0])
	if !l.half() {
		l.node("Sigmoid", l.result(v), []string{x})
		return
	}
	_, t := l.tanhOfHalf(x)
	t = l.node("ElementWiseMultiply", l.temp(extents(v.Type)...), []string{t, l.constant(0.5, 1)})
	l.node("ElementWiseAdd", l.result(v), []string{t, l.constant(0.5, 1)})
}

func silu(l *lowering, v *ir.Value) {
	x := l.operand(v.Args[0])
	temp := func() string { return l.temp(extents(v.Type)...) }
	if !l.half() {
		gate := l.node("Sigmoid", temp(), []string{x})
		l.node("ElementWiseMultiply", l.result(v), []string{x, gate})
		return
	}
	h, t := l.tanhOfHalf(x)
	l.node("ElementWiseAdd", l.result(v), []string{h, l.node("ElementWiseMultiply", temp(), []string{h, t})})
}

// tanhOfHalf returns x/2 and its tanh, of which a sigmoid is made where HTP's own
// is off by 7e-4, and by 4e-3 right behind a product of few rows.
func (l *lowering) tanhOfHalf(x string) (half, tanh string) {
	dims := l.dims(x)
	half = l.node("ElementWiseMultiply", l.temp(dims...), []string{x, l.constant(0.5, 1)})
	return half, l.node("Tanh", l.temp(dims...), []string{half})
}
