package lowertest

import (
	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
	"estream/lower"
)

// store writes an activation, a step's vector or a state into its buffer.
func store(b lower.Buffer, x *interp.Tensor) {
	for i, p := range b.Parts() {
		store(p, x.Parts[i])
	}
	switch d := b.Type.DType; {
	case d.Float():
		lower.Encode(b.Bytes(), x.F, d)
	case d == ir.I32:
		copy(lower.I32(b.Bytes()), x.I)
	case d.Activation():
		k, scales := rowOf(b.Type)
		for r := range len(x.A) / k {
			row := b.Bytes()[r*lower.ActivationRow(d, k):]
			copy(lower.I8(row[:k]), x.A[r*k:])
			copy(lower.F32(row[lower.ScaleOffset(k):][:4*scales]), x.Scale[r*scales:])
		}
	}
}

// load reads what store writes.
func load(b lower.Buffer) *interp.Tensor {
	x := interp.New(b.Type)
	for i, p := range b.Parts() {
		x.Parts[i] = load(p)
	}
	switch d := b.Type.DType; {
	case d.Float():
		lower.Decode(x.F, b.Bytes(), d)
	case d == ir.I32:
		copy(x.I, lower.I32(b.Bytes()))
	case d.Activation():
		k, scales := rowOf(b.Type)
		for r := range len(x.A) / k {
			row := b.Bytes()[r*lower.ActivationRow(d, k):]
			copy(x.A[r*k:], lower.I8(row[:k]))
			copy(x.Scale[r*scales:], lower.F32(row[lower.ScaleOffset(k):][:4*scales]))
		}
	}
	return x
}

// rowOf returns the codes and scales of a row along the last axis.
func rowOf(t ir.Type) (k, scales int) {
	k = t.Last().N
	return k, k / t.DType.Group(k)
}

// weightSize returns the bytes of weight w of g.
func weightSize(g *ir.Graph, w *ir.Value, p lower.Packing) (int64, error) {
	return lower.WeightSize(p, w.Type, lower.IsMatrix(g, w))
}

// storeWeight writes weight w of g as a package holds it.
func storeWeight(dst []byte, g *ir.Graph, w *ir.Value, x *interp.Tensor, p lower.Packing) error {
	if lower.IsMatrix(g, w) {
		return p.Pack(dst, matrixOf(x))
	}
	return lower.PackPlain(dst, matrixOf(x))
}

// matrixOf returns a weight as packings take it.
func matrixOf(x *interp.Tensor) *quant.Matrix {
	if x.Q != nil {
		return x.Q
	}
	return &quant.Matrix{DType: x.Type.DType, N: x.Type.Dims[0].N, K: x.Type.Last().N, F: x.F, Factor: 1}
}

// loadWeight reads what storeWeight writes; factor is the buffer's.
func loadWeight(src []byte, g *ir.Graph, w *ir.Value, factor float32, p lower.Packing) (*interp.Tensor, error) {
	unpack := lower.UnpackPlain
	if lower.IsMatrix(g, w) {
		unpack = p.Unpack
	}
	m, err := unpack(src, w.Type)
	if err != nil {
		return nil, err
	}
	if w.Type.DType.Float() {
		return &interp.Tensor{Type: w.Type, F: m.F}, nil
	}
	c := *m
	c.Factor = factor
	return interp.Matrix(&c), nil
}
