package lower

import (
	"encoding/binary"
	"fmt"

	"estream/ir"
	"estream/ir/quant"
)

// Encode rounds src to numbers of d (f32, f16 or bf16), ties to even, at the start of dst.
func Encode(dst []byte, src []float32, d ir.DType) {
	switch d {
	case ir.F32:
		copy(F32(dst), src)
	case ir.BF16:
		out := U16(dst)[:len(src)]
		for i, v := range src {
			out[i] = quant.BF16(v)
		}
	case ir.F16:
		out := U16(dst)[:len(src)]
		for i, v := range src {
			out[i] = quant.F16(v)
		}
	default:
		panic(fmt.Sprintf("lower: encode %s", d))
	}
}

// Decode sets dst to the len(dst) numbers of d (f32, f16 or bf16) at the start of src.
func Decode(dst []float32, src []byte, d ir.DType) {
	switch d {
	case ir.F32:
		copy(dst, F32(src))
	case ir.BF16:
		for i, h := range U16(src)[:len(dst)] {
			dst[i] = quant.FromBF16(h)
		}
	case ir.F16:
		for i, h := range U16(src)[:len(dst)] {
			dst[i] = quant.FromF16(h)
		}
	default:
		panic(fmt.Sprintf("lower: decode %s", d))
	}
}

// WeightSize returns the bytes of a weight whose extents are numbers: in packing p
// if it is a matrix, which matmul reads, else plain.
func WeightSize(p Packing, t ir.Type, matrix bool) (int64, error) {
	if matrix {
		return p.Size(t)
	}
	return PlainSize(t)
}

// PlainSize returns the bytes of a plain weight: its elements in order, without
// gaps; a row of w8 is K codes, then an f16 scale.
func PlainSize(t ir.Type) (int64, error) {
	n := int64(1)
	for _, d := range t.Dims {
		if d.Sym != "" || d.N <= 0 || n > 1<<46/int64(d.N) {
			return 0, fmt.Errorf("weight type %s has no size", t)
		}
		n *= int64(d.N)
	}
	switch {
	case t.DType.Float():
		return n * int64(t.DType.Bits()) / 8, nil
	case t.DType == ir.W8 && t.Rank() == 2:
		return int64(t.Dims[0].N) * int64(t.Dims[1].N+2), nil
	}
	return 0, fmt.Errorf("weight type %s has no plain form", t)
}

// PackPlain writes a plain weight as PlainSize says.
func PackPlain(dst []byte, m *quant.Matrix) error {
	switch {
	case m.DType.Float():
		Encode(dst, m.F, m.DType)
	case m.DType == ir.W8:
		for n := range m.N {
			row := dst[n*(m.K+2):][:m.K+2]
			copy(I8(row[:m.K]), m.Q[n*m.K:])
			binary.LittleEndian.PutUint16(row[m.K:], m.Scale[n])
		}
	default:
		return fmt.Errorf("no plain form of %s", m.DType)
	}
	return nil
}

// UnpackPlain reads the plain weight of type t, of rank 1 or 2, that PackPlain
// wrote; Factor is 1.
func UnpackPlain(src []byte, t ir.Type) (*quant.Matrix, error) {
	size, err := PlainSize(t)
	if err != nil {
		return nil, err
	}
	if int64(len(src)) < size {
		return nil, fmt.Errorf("%d bytes hold no %s, which takes %d", len(src), t, size)
	}
	m := &quant.Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Last().N, Factor: 1}
	if t.DType.Float() {
		m.F = make([]float32, int(size)*8/t.DType.Bits())
		Decode(m.F, src, t.DType)
		return m, nil
	}
	for n := range m.N {
		row := src[n*(m.K+2):][:m.K+2]
		m.Q = append(m.Q, I8(row[:m.K])...)
		m.Scale = append(m.Scale, binary.LittleEndian.Uint16(row[m.K:]))
	}
	return m, nil
}
