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
