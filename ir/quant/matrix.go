// Package quant turns weights into codes and scales and back. It is the one
// place where a weight is rounded: packings arrange what it returns and never
// round again, and the interpreter judges by the same values.
package quant

import "estream/ir"

// A Matrix is a weight of N rows (outputs) and K columns (inputs) in the
// encoding that DType names. The logical value of element (n, k) is
//
//	F[n*K+k]                                                for f32, f16, bf16
//	float32(Q[n*K+k]) * f16(Scale[n*(K/g)+k/g]) * Factor    for encodings, g = DType.Group(K)
//
// Plain values in F are already rounded to DType. A Matrix is not changed after
// it is made; its owner is whoever made it.
type Matrix struct {
	DType  ir.DType
	N, K   int
	F      []float32 // [N][K], plain types only
	Q      []int8    // [N][K], encodings only
	Scale  []uint16  // [N][K/g] IEEE half precision, encodings only
	Factor float32   // a power of two for the whole matrix; 1 for plain types
}

// At returns the logical value of row n and column k.
func (m *Matrix) At(n, k int) float32 {
	if !m.DType.Encoded() {
		return m.F[n*m.K+k]
	}
	g := m.DType.Group(m.K)
	return float32(m.Q[n*m.K+k]) * FromF16(m.Scale[n*(m.K/g)+k/g]) * m.Factor
}

// Row sets dst [K] to the logical values of row n.
func (m *Matrix) Row(n int, dst []float32) {
	if !m.DType.Encoded() {
		copy(dst, m.F[n*m.K:(n+1)*m.K])
		return
	}
	g := m.DType.Group(m.K)
	for k := 0; k < m.K; k += g {
		s := FromF16(m.Scale[(n*m.K+k)/g])
		for i, q := range m.Q[n*m.K+k : n*m.K+k+g] {
			dst[k+i] = float32(q) * s * m.Factor // in this order: s times a small factor may be no f32
		}
	}
}

// Values returns the logical values [N][K].
func (m *Matrix) Values() []float32 {
	v := make([]float32, m.N*m.K)
	for n := range m.N {
		m.Row(n, v[n*m.K:(n+1)*m.K])
	}
	return v
}

// RowsOf returns rows from..to-1 as a Matrix that shares m's memory.
func (m *Matrix) RowsOf(from, to int) *Matrix {
	v := *m
	v.N = to - from
	if !m.DType.Encoded() {
		v.F = m.F[from*m.K : to*m.K]
		return &v
	}
	groups := m.K / m.DType.Group(m.K)
	v.Q, v.Scale = m.Q[from*m.K:to*m.K], m.Scale[from*groups:to*groups]
	return &v
}
