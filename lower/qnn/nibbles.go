package qnn

import (
	"fmt"

	"estream/ir"
	"estream/lower/qnn/native"
)

// nibbles multiplies by int4: the halves of x by those of the matrix. Codes count
// as 16ths in both halves: h is worth 1 and has a 16th of its scale.
func (l *lowering) nibbles(x string, w *ir.Value, out func() string) string {
	c, m, n := l.codesOf(w), l.dims(x)[0], w.Type.Dims[0].N
	half, blocks := c.parts[0].cols, c.parts[1].cols
	high, low := l.unpack(l, l.integers(c, 0, 1.0/16, n, half))
	xs := []string{l.temp(m, half), l.temp(m, half)}
	l.nodes("Split", xs, []string{x}, native.U32("axis", 1), native.U32s("split_index", uint32(half)))
	var ys []string
	for i, codes := range []string{high, low} {
		scale := l.reshaped(l.scales(c, 1+i, fmt.Sprintf(".scale%d", i), n, blocks), n, blocks, 1)
		groups := l.reshaped(codes, n, blocks, half/blocks)
		scaled := l.node("ElementWiseMultiply", l.temp(n, blocks, half/blocks), []string{groups, scale})
		ys = append(ys, l.node("MatMul", l.temp(m, n), []string{xs[i], l.reshaped(scaled, n, half)}, transposed()...))
	}
	y := l.node("ElementWiseAdd", l.temp(m, n), ys)
	return l.node("ElementWiseMultiply", out(), []string{y, l.factor(c, 16)})
}

// nibblesByBlock multiplies by int4 a block at a time, in one product batched by
// blocks, and scales its results. For few rows that moves less than scaling codes.
func (l *lowering) nibblesByBlock(x string, w *ir.Value, out func() string) string {
	c, m, n := l.codesOf(w), l.dims(x)[0], w.Type.Dims[0].N
	blocks := c.parts[1].cols
	b := c.parts[0].cols / blocks
	packed := l.tensor(native.Tensor{Kind: native.Native, Type: native.SFixed8, Dims: []int{blocks, n, b}, Quant: native.Quant{Scale: 1.0 / 16}})
	l.node("Transpose", packed, []string{l.integers(c, 0, 1.0/16, n, blocks, b)}, native.U32s("perm", 1, 0, 2))
	high, low := l.unpack(l, packed)
	xs := []string{l.temp(blocks, m, b), l.temp(blocks, m, b)}
	byBlock := l.node("Transpose", l.temp(2*blocks, m, b), []string{l.reshaped(x, m, 2*blocks, b)}, native.U32s("perm", 1, 0, 2))
	l.nodes("Split", xs, []string{byBlock}, native.U32("axis", 0), native.U32s("split_index", uint32(blocks)))
	var ys []string
	for i, codes := range []string{high, low} {
		scale := l.node("Transpose", l.temp(blocks, n), []string{l.scales(c, 1+i, fmt.Sprintf(".scale%d", i), n, blocks)}, native.U32s("perm", 1, 0))
		y := l.node("MatMul", l.temp(blocks, m, n), []string{xs[i], codes}, transposed()...)
		y = l.node("ElementWiseMultiply", l.temp(blocks, m, n), []string{y, l.reshaped(scale, blocks, 1, n)})
		ys = append(ys, l.node("ReduceSum", l.temp(m, n), []string{y}, native.U32s("axes", 0), native.Bool("keep_dims", false)))
	}
	y := l.node("ElementWiseAdd", l.temp(m, n), ys)
	return l.node("ElementWiseMultiply", out(), []string{y, l.factor(c, 16)})
}

// fewRows is up to how many rows an expert of OLMoE's size then reads what it would
// if its weights were constants, 3.2 MiB; of more, results spill.
const fewRows = 8

// unpackRounding takes h + l/16 apart by rounding, which is exact in single precision.
func unpackRounding(l *lowering, packed string) (high, low string) {
	dims := l.dims(packed)
	v := l.real(packed)
	high = l.node("ElementWiseRound", l.temp(dims...), []string{v})
	return high, l.node("ElementWiseSubtract", l.temp(dims...), []string{v, high})
}

// unpackConverting takes it apart as integers: a conversion to steps of 1 rounds,
// and the rest is exact.
func unpackConverting(l *lowering, packed string) (high, low string) {
	dims := l.dims(packed)
	fixed := func(unit float32) string {
		return l.tensor(native.Tensor{Kind: native.Native, Type: native.SFixed8, Dims: dims, Quant: native.Quant{Scale: unit}})
	}
	h := l.node("Convert", fixed(1), []string{packed})
	rest := l.node("ElementWiseSubtract", fixed(1.0/16), []string{packed, h})
	return l.real(h), l.real(rest)
}
