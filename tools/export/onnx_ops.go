package export

import (
	"slices"

	"estream/ir"
)

// A sameOp makes n the node of ONNX that computes v; false, with n as it was, if
// there is none for v's types.
type sameOp func(b *nodeBuilder, n *node, v *ir.Value) bool

// standard returns how ONNX has an operator; nil if it has not.
func standard(op *ir.Op) sameOp {
	switch op {
	case ir.Add:
		return elementwise("Add")
	case ir.Sub:
		return elementwise("Sub")
	case ir.Mul:
		return elementwise("Mul")
	case ir.Div:
		return elementwise("Div")
	case ir.Sigmoid:
		return elementwise("Sigmoid")
	case ir.SiLU:
		return elementwise("Swish")
	case ir.Softmax:
		return elementwise("Softmax", attr{"axis", -1})
	case ir.Concat:
		return elementwise("Concat", attr{"axis", -1})
	case ir.Clamp:
		return clip
	case ir.Sum:
		return reduceSum
	case ir.RMSNorm:
		return rmsNormalization
	case ir.MatMul:
		return gemm
	case ir.Gather:
		return gathered("GatherElements", -1)
	case ir.GatherRows, ir.Embed:
		return gathered("Gather", 0)
	case ir.Reshape:
		return reshape
	case ir.Slice:
		return slice
	}
	return nil
}

// plain reports whether v and all its operands are f32.
func plain(v *ir.Value) bool {
	return v.Type.DType == ir.F32 && !slices.ContainsFunc(v.Args, func(a *ir.Value) bool { return a.Type.DType != ir.F32 })
}

func (n *node) be(op string, attributes ...attr) bool {
	n.op = op
	for _, a := range attributes {
		n.attributes = append(n.attributes, a.onnx())
	}
	return true
}

func elementwise(op string, attributes ...attr) sameOp {
	return func(_ *nodeBuilder, n *node, v *ir.Value) bool { return plain(v) && n.be(op, attributes...) }
}

// gathered is an operator of numbers and whole numbers. Axis -1 is written as the
// number of the last: ONNX's reference takes no other.
func gathered(op string, axis int) sameOp {
	return func(_ *nodeBuilder, n *node, v *ir.Value) bool {
		at := attr{"axis", axis}
		if axis < 0 {
			at.Value = v.Args[0].Type.Rank() - 1
		}
		return v.Type.DType == ir.F32 && v.Args[0].Type.DType == ir.F32 && n.be(op, at)
	}
}

func clip(b *nodeBuilder, n *node, v *ir.Value) bool {
	if !plain(v) {
		return false
	}
	limit := v.Attr.(ir.LimitAttr).Limit
	n.in = append(n.in, b.constant(v, "min", scalar(-limit)), b.constant(v, "max", scalar(limit)))
	return n.be("Clip")
}

func reduceSum(b *nodeBuilder, n *node, v *ir.Value) bool {
	if !plain(v) {
		return false
	}
	n.in = append(n.in, b.constant(v, "axes", ints(-1)))
	return n.be("ReduceSum", attr{"keepdims", 1})
}

// rmsNormalization returns what its gain is of, so that must be f32 as well.
func rmsNormalization(_ *nodeBuilder, n *node, v *ir.Value) bool {
	return plain(v) && n.be("RMSNormalization", attr{"axis", -1}, attr{"epsilon", v.Attr.(ir.EpsAttr).Eps})
}

// gemm is for matrices: ONNX has no product of more axes with a transpose.
func gemm(_ *nodeBuilder, n *node, v *ir.Value) bool {
	return plain(v) && v.Type.Rank() == 2 && n.be("Gemm", attr{"transB", 1})
}

// reshape is for one extent with a symbol at most, which then is what is left.
func reshape(b *nodeBuilder, n *node, v *ir.Value) bool {
	var shape []int64
	open := 0
	for _, d := range v.Type.Dims {
		if d.Sym != "" {
			open++
			shape = append(shape, -1)
			continue
		}
		shape = append(shape, int64(d.N))
	}
	if !plain(v) || open > 1 {
		return false
	}
	n.in = append(n.in, b.constant(v, "shape", ints(shape...)))
	return n.be("Reshape")
}

func slice(b *nodeBuilder, n *node, v *ir.Value) bool {
	if !plain(v) {
		return false
	}
	a := v.Attr.(ir.SliceAttr)
	n.in = append(n.in, b.constant(v, "from", ints(int64(a.From))), b.constant(v, "to", ints(int64(a.To))), b.constant(v, "axes", ints(-1)))
	return n.be("Slice")
}
