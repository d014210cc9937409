package host

import (
	"estream/ir"
	"estream/lower/host/kernel"
)

// An operator is how the host runs an op of package ir.
type operator struct {
	run    Func
	raw    int                               // operand, counted from 1, that run takes in its own type; other float tensors come as f32
	refuse func(v *ir.Value) string          // why v cannot be run, or nothing; nil: everything can
	space  func(b *backend, v *ir.Value) int // words of working memory that run finds behind its operands; nil: none
}

// core returns the operators of package ir.
func core() map[*ir.Op]operator {
	return map[*ir.Op]operator{
		ir.Embed:      {run: embed, raw: 1, refuse: refuseEmbed},
		ir.MatMul:     {run: matMul, raw: 2, refuse: refuseMatMul},
		ir.Add:        {run: binary(kernel.Add)},
		ir.Sub:        {run: binary(kernel.Sub)},
		ir.Mul:        {run: binary(kernel.Mul)},
		ir.Div:        {run: binary(kernel.Div)},
		ir.Affine:     {run: rowwise(1, affineRows)},
		ir.Sum:        {run: rowwise(1, sumRows)},
		ir.SiLU:       {run: rowwise(1, siluRows)},
		ir.Sigmoid:    {run: rowwise(1, sigmoidRows)},
		ir.Clamp:      {run: rowwise(1, clampRows)},
		ir.Softmax:    {run: rowwise(1, softmaxRows)},
		ir.RMSNorm:    {run: rowwise(1, normRows)},
		ir.Reshape:    {run: move},
		ir.Slice:      {run: rowwise(1, sliceRows)},
		ir.Concat:     {run: rowwise(1, concatRows)},
		ir.RoPE:       {run: rope},
		ir.TopK:       {run: rowwise(4, topKRows)},
		ir.OneHot:     {run: rowwise(1, oneHotRows)},
		ir.Gather:     {run: rowwise(1, gatherElements)},
		ir.Append:     {run: appendRows},
		ir.Attention:  {run: attention, refuse: refuseAttention, space: attentionSpace},
		ir.Conv:       {run: conv},
		ir.Shift:      {run: shift},
		ir.Quantize:   {run: rowwise(1, quantizeRows)},
		ir.GatherRows: {run: gatherRows, raw: 1},
		ir.ScaleRows:  {run: rowwise(1, scaleRows)},
		ir.ScatterAdd: {run: scatterAdd},
	}
}
