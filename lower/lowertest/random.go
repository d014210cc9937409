package lowertest

import (
	"hash/fnv"
	"math/rand/v2"

	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
)

// A source makes random tensors, the same each time for one seed.
type source struct{ *rand.Rand }

func newSource(seed string) source {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return source{rand.New(rand.NewPCG(h.Sum64(), 1))}
}

// tensor returns a tensor of normal values; t's extents are numbers.
func (r source) tensor(t ir.Type) *interp.Tensor {
	if t.DType.Encoded() {
		return interp.Matrix(r.matrix(t))
	}
	x := interp.New(t)
	for i := range x.F {
		x.F[i] = rounded(t.DType, float32(r.NormFloat64()))
	}
	for i := range x.A {
		x.A[i] = int8(r.IntN(255) - 127)
	}
	for i := range x.Scale {
		x.Scale[i] = 0.001 + r.Float32()/50
	}
	for i, p := range t.Parts {
		x.Parts[i] = r.tensor(p)
	}
	return x
}

// matrix returns a weight that uses all codes, both signs of scales where the
// encoding has them, and a factor.
func (r source) matrix(t ir.Type) *quant.Matrix {
	n, k, d := t.Dims[0].N, t.Dims[1].N, t.DType
	m := &quant.Matrix{DType: d, N: n, K: k, Q: make([]int8, n*k), Scale: make([]uint16, n*(k/d.Group(k))), Factor: 0.25}
	low, high := -127, 127
	switch {
	case d.Full():
		low, high = -8, 7
	case d != ir.W8:
		low, high = -7, 7
	}
	for i := range m.Q {
		m.Q[i] = int8(low + r.IntN(high-low+1))
	}
	for i := range m.Scale {
		s := (0.5 + r.Float32()/2) / float32(high)
		if d.Full() && r.IntN(2) == 0 {
			s = -s
		}
		m.Scale[i] = quant.F16(s)
	}
	return m
}

// ints returns whole numbers 0..n-1.
func (r source) ints(n int, extents ...int) *interp.Tensor {
	x := interp.Ints(nil, extents...)
	x.I = make([]int32, product(extents))
	for i := range x.I {
		x.I[i] = int32(r.IntN(n))
	}
	return x
}

func product(extents []int) int {
	n := 1
	for _, e := range extents {
		n *= e
	}
	return n
}

func rounded(d ir.DType, x float32) float32 {
	switch d {
	case ir.F16:
		return quant.FromF16(quant.F16(x))
	case ir.BF16:
		return quant.FromBF16(quant.BF16(x))
	}
	return x
}
