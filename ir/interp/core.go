package interp

import "estream/ir"

// Core returns a new table of all ops of ir.CoreOps.
func Core() Table {
	return Table{
		ir.Input:  given,
		ir.Weight: given,

		ir.Add:     binary(func(x, y float64) float64 { return x + y }),
		ir.Sub:     binary(func(x, y float64) float64 { return x - y }),
		ir.Mul:     binary(func(x, y float64) float64 { return x * y }),
		ir.Div:     binary(func(x, y float64) float64 { return x / y }),
		ir.SiLU:    unary(func(x float64, _ any) float64 { return x * sigmoid(x) }),
		ir.Sigmoid: unary(func(x float64, _ any) float64 { return sigmoid(x) }),
		ir.Affine:  unary(affine),
		ir.Clamp:   unary(clamp),

		ir.Sum:     sum,
		ir.Softmax: softmax,
		ir.RMSNorm: rmsNorm,
		ir.TopK:    topK,

		ir.Reshape:    reshape,
		ir.Slice:      slice,
		ir.Concat:     concat,
		ir.Embed:      embed,
		ir.OneHot:     oneHot,
		ir.Gather:     gather,
		ir.GatherRows: gatherRows,

		ir.MatMul:   matMul,
		ir.Quantize: quantize,

		ir.RoPE:            rope,
		ir.Append:          appendRows,
		ir.Attention:       attention,
		ir.AttentionMasked: attentionMasked,
		ir.Conv:            conv,
		ir.ConvPast:        convPast,
		ir.Shift:           shift,

		ir.Experts:    experts,
		ir.ScaleRows:  scaleRows,
		ir.ScatterAdd: scatterAdd,
	}
}

// given is the value of an input or weight, which bind has checked.
func given(c *Call) (*Tensor, error) { return c.frame.in[c.Value.Name], nil }
