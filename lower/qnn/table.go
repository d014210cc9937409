package qnn

import (
	"estream/ir"
	"estream/lower/qnn/native"
)

// A row says how an operator becomes nodes. Names, parameters and broadcasting
// are those of the vendor's operator definitions; since tells from which API on.
type row struct {
	lower  func(*lowering, *ir.Value)
	refuse func(*ir.Value) string // why not, beyond what operands' types say, and the remedy; nil: never
}

// rows is the table of operators. What it lacks stays on the host.
var rows = map[*ir.Op]row{
	ir.Add:     {lower: one("ElementWiseAdd")},
	ir.Sub:     {lower: one("ElementWiseSubtract")},
	ir.Mul:     {lower: one("ElementWiseMultiply")},
	ir.Div:     {lower: one("ElementWiseDivide")},
	ir.Reshape: {lower: one("Reshape")},
	ir.Softmax: {lower: one("Softmax", lastAxis("axis"), always(native.F32("beta", 1)))},
	ir.Sum:     {lower: one("ReduceSum", lastAxes("axes"), always(native.Bool("keep_dims", true)))},
	ir.Concat:  {lower: one("Concat", lastAxis("axis"))},
	ir.Slice:   {lower: one("StridedSlice", sliceRanges)},
	ir.Clamp:   {lower: one("ReluMinMax", limits)},

	ir.Affine:          {lower: affine},
	ir.Sigmoid:         {lower: sigmoid},
	ir.SiLU:            {lower: silu},
	ir.ScaleRows:       {lower: scaleRows},
	ir.RMSNorm:         {lower: rmsNorm},
	ir.MatMul:          {lower: matMul, refuse: refuseMatMul},
	ir.RoPE:            {lower: rope, refuse: refuseRoPE},
	ir.AttentionMasked: {lower: attention},
	ir.ConvPast:        {lower: convPast},
}

// one lowers to a single node with v's operands.
func one(op string, params ...func(v *ir.Value) []native.Param) func(*lowering, *ir.Value) {
	return func(l *lowering, v *ir.Value) {
		var in []string
		for _, a := range v.Args {
			in = append(in, l.operand(a))
		}
		var ps []native.Param
		for _, p := range params {
			ps = append(ps, p(v)...)
		}
		l.node(op, l.result(v), in, ps...)
	}
}

func always(p native.Param) func(*ir.Value) []native.Param {
	return func(*ir.Value) []native.Param { return []native.Param{p} }
}

func last(v *ir.Value) uint32 { return uint32(v.Args[0].Type.Rank() - 1) }

func lastAxis(name string) func(*ir.Value) []native.Param {
	return func(v *ir.Value) []native.Param { return []native.Param{native.U32(name, last(v))} }
}

func lastAxes(name string) func(*ir.Value) []native.Param {
	return func(v *ir.Value) []native.Param { return []native.Param{native.U32s(name, last(v))} }
}

// sliceRanges is begin, end and stride of each axis.
func sliceRanges(v *ir.Value) []native.Param {
	var ranges []int32
	for _, d := range v.Args[0].Type.Dims {
		ranges = append(ranges, 0, int32(d.N), 1)
	}
	a, n := v.Attr.(ir.SliceAttr), len(ranges)
	ranges[n-3], ranges[n-2] = int32(a.From), int32(a.To)
	return []native.Param{native.I32s("ranges", []int{n / 3, 3}, ranges...)}
}

func limits(v *ir.Value) []native.Param {
	limit := float32(v.Attr.(ir.LimitAttr).Limit)
	return []native.Param{native.F32("min_value", -limit), native.F32("max_value", limit)}
}

func affine(l *lowering, v *ir.Value) {
	a := v.Attr.(ir.AffineAttr)
	x := l.node("ElementWiseMultiply", l.temp(extents(v.Type)...), []string{l.operand(v.Args[0]), l.constant(float32(a.Mul), 1)})
	l.node("ElementWiseAdd", l.result(v), []string{x, l.constant(float32(a.Add), 1)})
}

func scaleRows(l *lowering, v *ir.Value) {
	x, w := l.operand(v.Args[0]), l.operand(v.Args[1])
	column := l.reshaped(w, v.Args[1].Type.Dims[0].N, 1)
	l.node("ElementWiseMultiply", l.result(v), []string{x, column})
}

// rmsNorm gives the node a beta of zeros, without which HTP does not compose it, and
// rows in two axes: of heads in a third, 16 rows and more, HTP computes wrong numbers.
func rmsNorm(l *lowering, v *ir.Value) {
	n := v.Type.Last().N
	x, gain := l.operand(v.Args[0]), l.operand(v.Args[1])
	rows, axis := x, last(v)
	if v.Type.Rank() > 2 {
		rows, axis = l.reshaped(x, elements(v.Type)/n, n), 1
	}
	params := []native.Param{native.F32("epsilon", float32(v.Attr.(ir.EpsAttr).Eps)), native.U32s("axes", axis)}
	in := []string{rows, gain, l.constant(0, n)}
	if rows == x {
		l.node("RmsNorm", l.result(v), in, params...)
		return
	}
	y := l.node("RmsNorm", l.temp(l.dims(rows)...), in, params...)
	l.node("Reshape", l.result(v), []string{y})
}
