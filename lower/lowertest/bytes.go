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
		storeFloats(b.Bytes(), d, x.F)
	case d == ir.I32:
		copy(lower.I32(b.Bytes()), x.I)
	case d.Activation():
		k, scales := rowOf(b.Type)
		for r := range len(x.A) / k {
			row := b.Bytes()[r*(int(lower.RowBytes(flat(b.Type)))):]
			copy(lower.I8(row[:k]), x.A[r*k:])
			copy(lower.F32(row[lower.ScaleOffset(b.Type):][:4*scales]), x.Scale[r*scales:])
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
		loadFloats(x.F, d, b.Bytes())
	case d == ir.I32:
		copy(x.I, lower.I32(b.Bytes()))
	case d.Activation():
		k, scales := rowOf(b.Type)
		for r := range len(x.A) / k {
			row := b.Bytes()[r*(int(lower.RowBytes(flat(b.Type)))):]
			copy(x.A[r*k:], lower.I8(row[:k]))
			copy(x.Scale[r*scales:], lower.F32(row[lower.ScaleOffset(b.Type):][:4*scales]))
		}
	}
	return x
}

// rowOf returns the codes and scales of a row along the last axis.
func rowOf(t ir.Type) (k, scales int) {
	k = t.Last().N
	return k, k / t.DType.Group(k)
}

// flat returns t with all extents but the last in one.
func flat(t ir.Type) ir.Type {
	n := 1
	for _, d := range t.Dims[:len(t.Dims)-1] {
		n *= d.N
	}
	return ir.Tensor(t.DType, ir.N(n), t.Last())
}

func storeFloats(b []byte, d ir.DType, xs []float32) {
	if d == ir.F32 {
		copy(lower.F32(b), xs)
		return
	}
	h := lower.U16(b)
	for i, x := range xs {
		if h[i] = quant.BF16(x); d == ir.F16 {
			h[i] = quant.F16(x)
		}
	}
}

func loadFloats(xs []float32, d ir.DType, b []byte) {
	if d == ir.F32 {
		copy(xs, lower.F32(b))
		return
	}
	h := lower.U16(b)
	for i := range xs {
		if xs[i] = quant.FromBF16(h[i]); d == ir.F16 {
			xs[i] = quant.FromF16(h[i])
		}
	}
}

// weightSize returns the bytes of weight w of g.
func weightSize(g *ir.Graph, w *ir.Value, t ir.Type, p lower.Packing) (int64, error) {
	if lower.IsMatrix(g, w) {
		return p.Size(t)
	}
	return lower.PlainSize(t)
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
	t := w.Type
	if lower.IsMatrix(g, w) {
		m, err := p.Unpack(src, t)
		if err != nil {
			return nil, err
		}
		c := *m
		if t.DType.Encoded() {
			c.Factor = factor
		}
		return interp.Matrix(&c), nil
	}
	if t.DType.Float() {
		x := interp.New(t)
		loadFloats(x.F, t.DType, src)
		return x, nil
	}
	m := &quant.Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Dims[1].N, Factor: factor}
	for r := range m.N {
		row := src[r*(m.K+2):][:m.K+2]
		m.Q = append(m.Q, lower.I8(row[:m.K])...)
		m.Scale = append(m.Scale, uint16(row[m.K])|uint16(row[m.K+1])<<8)
	}
	return interp.Matrix(m), nil
}
