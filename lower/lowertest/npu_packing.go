package lowertest

import (
	"fmt"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// Packing npu.kn: numbers and int8 codes stand a column of inputs after another
// [K,N]; int4 codes stand [N,K/2], those of inputs k (low) and k+K/2 (high) in
// one byte; scales stand behind at a multiple of 64 bytes, [K/g,N].

func npuSize(t ir.Type) (int64, error) {
	if t.Rank() != 2 || t.Dims[0].Sym != "" || t.Dims[1].Sym != "" || !t.DType.Float() && !t.DType.Encoded() || t.DType.Full() {
		return 0, fmt.Errorf("packing npu.kn has no form of %s: %w", t, lower.ErrUnsupported)
	}
	codes, scales := npuParts(t)
	return lower.RoundUp(codes, lower.Align) + lower.RoundUp(scales, lower.Align), nil
}

// npuParts returns the bytes of codes, or numbers, and of scales.
func npuParts(t ir.Type) (codes, scales int64) {
	n, k := int64(t.Dims[0].N), int64(t.Dims[1].N)
	if t.DType.Encoded() {
		scales = 2 * n * (k / int64(t.DType.Group(int(k))))
	}
	return n * k * int64(t.DType.Bits()) / 8, scales
}

func npuPack(dst []byte, m *quant.Matrix) error {
	t := ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K))
	size, err := npuSize(t)
	if err != nil {
		return err
	}
	if int64(len(dst)) != size {
		return fmt.Errorf("packing npu.kn: %d bytes for %s, want %d", len(dst), t, size)
	}
	clear(dst)
	switch {
	case m.DType.Float():
		lower.Encode(dst, transposed(m.F, m.N, m.K), m.DType)
		return nil
	case m.DType == ir.W8:
		copy(lower.I8(dst), transposed(m.Q, m.N, m.K))
	default:
		half := m.K / 2
		for i := range m.N * half {
			row := m.Q[i/half*m.K:]
			dst[i] = byte(row[i%half])&15 | byte(row[i%half+half])<<4
		}
	}
	codes, _ := npuParts(t)
	copy(lower.U16(dst[lower.RoundUp(codes, lower.Align):]), transposed(m.Scale, m.N, len(m.Scale)/m.N))
	return nil
}

func npuUnpack(src []byte, t ir.Type) (*quant.Matrix, error) {
	size, err := npuSize(t)
	if err != nil {
		return nil, err
	}
	if int64(len(src)) != size {
		return nil, fmt.Errorf("packing npu.kn: %d bytes hold no %s, which takes %d", len(src), t, size)
	}
	m := &quant.Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Dims[1].N, Factor: 1}
	switch {
	case t.DType.Float():
		f := make([]float32, m.N*m.K)
		lower.Decode(f, src, t.DType)
		m.F = transposed(f, m.K, m.N)
		return m, nil
	case t.DType == ir.W8:
		m.Q = transposed(lower.I8(src)[:m.N*m.K], m.K, m.N)
	default:
		m.Q = make([]int8, m.N*m.K)
		half := m.K / 2
		for i := range m.N * half {
			row := m.Q[i/half*m.K:]
			row[i%half], row[i%half+half] = int8(src[i]<<4)>>4, int8(src[i])>>4
		}
	}
	codes, scales := npuParts(t)
	s := lower.U16(src[lower.RoundUp(codes, lower.Align):])[:scales/2]
	m.Scale = transposed(s, len(s)/m.N, m.N)
	return m, nil
}

// transposed returns the transpose of x [rows,cols].
func transposed[E any](x []E, rows, cols int) []E {
	y := make([]E, rows*cols)
	for i := range y {
		y[i] = x[i%rows*cols+i/rows]
	}
	return y
}
