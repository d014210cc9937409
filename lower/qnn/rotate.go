package qnn

import (
	"fmt"

	"estream/ir"
	"estream/lower/qnn/native"
)

func refuseRoPE(v *ir.Value) string {
	if v.Args[1].Op != ir.Input {
		return "positions must be an input: the host makes angles of them"
	}
	return ""
}

// rope rotates by tables of cosines and sines that the host makes of the
// positions: half precision has not the positions' angles.
func rope(l *lowering, v *ir.Value) {
	a, dims := v.Attr.(ir.RoPEAttr), extents(v.Type)
	t, h, half := dims[0], dims[1], dims[2]/2
	pairs, pair := []int{t, h, 2 * half}, []int{t, h, half}
	if a.Interleaved {
		pairs, pair = []int{t, h, half, 2}, []int{t, h, half, 1}
	}
	axis := uint32(len(pair) - 1)
	x := []string{l.temp(pair...), l.temp(pair...)}
	l.nodes("Split", x, []string{l.reshaped(l.operand(v.Args[0]), pairs...)}, native.U32("axis", axis), native.U32s("split_index", uint32(pair[axis])))
	cos, sin := l.table(cosines, v, pair), l.table(sines, v, pair)
	times := func(x, y string) string { return l.node("ElementWiseMultiply", l.temp(pair...), []string{x, y}) }
	turned := []string{
		l.node("ElementWiseSubtract", l.temp(pair...), []string{times(x[0], cos), times(x[1], sin)}),
		l.node("ElementWiseAdd", l.temp(pair...), []string{times(x[0], sin), times(x[1], cos)}),
	}
	if !a.Interleaved {
		l.node("Concat", l.result(v), turned, native.U32("axis", axis))
		return
	}
	y := l.node("Concat", l.temp(pairs...), turned, native.U32("axis", axis))
	l.node("Reshape", l.result(v), []string{y})
}

// table returns the input that holds the cosines or sines of v's angles, one for
// all that turn by the same.
func (l *lowering) table(k kind, v *ir.Value, pair []int) string {
	a, pos := v.Attr.(ir.RoPEAttr), v.Args[1]
	key := fmt.Sprint(k, a, pair[2], pos.ID)
	if l.made[key] == "" {
		dims := append([]int{pair[0], 1}, pair[2:]...)
		t := native.Tensor{Name: fmt.Sprintf("%s.%s", nameOf(pos), k), Type: l.float, Dims: dims}
		l.made[key] = l.input(t, binding{kind: k, i: l.inputIndex(pos), name: t.Name, turn: a, width: pair[2], to: l.floats(), bytes: int64(t.Bytes())})
	}
	return l.made[key]
}
