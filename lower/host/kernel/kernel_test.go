package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// normal returns n values of a normal distribution.
func normal(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 5))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// matrix returns a random matrix in an encoding.
func matrix(t testing.TB, d ir.DType, n, k int) *quant.Matrix {
	t.Helper()
	m, err := quant.Encode(d, n, k, normal(n*k, uint64(n*k)))
	require.NoError(t, err)
	return m
}

// packOf returns m in Packing.
func packOf(t testing.TB, m *quant.Matrix) *Matrix {
	t.Helper()
	size, err := Packing.Size(ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K)))
	require.NoError(t, err)
	w := &Matrix{DType: m.DType, N: m.N, K: m.K, Data: make([]byte, size), Factor: m.Factor}
	require.NoError(t, Packing.Pack(w.Data, m))
	return w
}

func packed(t testing.TB, d ir.DType, n, k int) *Matrix {
	t.Helper()
	return packOf(t, matrix(t, d, n, k))
}

// quantized returns random rows of a8 or a8g128.
func quantized(t testing.TB, rows, k int, blocks bool) []byte {
	t.Helper()
	x := make([]byte, rows*a8RowBytes(k, blocks))
	require.NoError(t, plain.QuantizeA8(x, normal(rows*k, uint64(rows)), rows, k, blocks))
	return x
}

// encoded returns n random numbers of a plain type.
func encoded(n int, d ir.DType, seed uint64) []byte {
	b := make([]byte, n*d.Bits()/8)
	lower.Encode(b, normal(n, seed), d)
	return b
}

// plain is the reference.
var plain = &Set{}
