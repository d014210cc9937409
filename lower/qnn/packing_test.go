package qnn

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// TestPackingBytes shows where codes and scales stand: a row of three groups of 32
// has blocks of 16, three to a half.
func TestPackingBytes(t *testing.T) {
	m := &quant.Matrix{DType: ir.W4G32, N: 1, K: 96, Q: make([]int8, 96), Factor: 1, Scale: []uint16{quant.F16(0.5), quant.F16(0.25), quant.F16(0x1p-10)}}
	m.Q[0], m.Q[48] = 7, -7
	m.Q[1], m.Q[49] = -3, 2
	dst := make([]byte, 3*64)
	require.NoError(t, Packing().Pack(dst, m))
	require.Equal(t, []int8{16*7 - 7, 16*-3 + 2, 0}, lower.I8(dst[:3]))
	var scales [2][]float32
	for half := range scales {
		for _, s := range lower.U16(dst[64*(1+half):])[:3] {
			scales[half] = append(scales[half], quant.FromF16(s))
		}
	}
	require.Equal(t, []float32{0.5 / 16, 0.5 / 16, 0.25 / 16}, scales[0])
	require.Equal(t, []float32{0.25, 0x1p-10, 0x1p-10}, scales[1])
}

func TestPackingGivesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16, ir.W8, ir.W4G32, ir.W4G64, ir.W4G128} {
		for _, k := range []int{128, 384} {
			m := randomMatrix(r, d, 5, k)
			size, err := Packing().Size(ir.Tensor(d, ir.N(m.N), ir.N(m.K)))
			require.NoError(t, err)
			b := make([]byte, size)
			require.NoError(t, Packing().Pack(b, m))
			got, err := Packing().Unpack(b, ir.Tensor(d, ir.N(m.N), ir.N(m.K)))
			require.NoError(t, err)
			require.Equal(t, m, got, "%s[5,%d]", d, k)
			got.N, got.F, got.Q, got.Scale = 2, got.F[:min(2*k, len(got.F))], got.Q[:min(2*k, len(got.Q))], got.Scale[:min(2*k/d.Group(k), len(got.Scale))]
			clear(got.F)
			clear(got.Q)
			clear(got.Scale)
			unpackRows(got, b, ir.Tensor(d, ir.N(m.N), ir.N(m.K)), 3)
			require.Equal(t, rowsOf(m, 3, 5), got, "rows 3 and 4 of %s[5,%d]", d, k)
		}
	}
}

func rowsOf(m *quant.Matrix, from, to int) *quant.Matrix {
	r := &quant.Matrix{DType: m.DType, N: to - from, K: m.K, Factor: 1}
	if m.DType.Float() {
		r.F = m.F[from*m.K : to*m.K]
		return r
	}
	g := m.K / m.DType.Group(m.K)
	r.Q, r.Scale = m.Q[from*m.K:to*m.K], m.Scale[from*g:to*g]
	return r
}

// TestSplitCodes takes all bytes, also those that no codes make.
func TestSplitCodes(t *testing.T) {
	src, high, low := make([]byte, 256), make([]int8, 256), make([]int8, 256)
	for i := range src {
		src[i] = byte(i)
	}
	splitCodes(high, low, src)
	for i := range src {
		v := int(int8(i))
		h := (v + 8) >> 4
		require.Equal(t, [2]int{h, v - 16*h}, [2]int{int(high[i]), int(low[i])}, "byte %d", v)
	}
}

func randomMatrix(r *rand.Rand, d ir.DType, n, k int) *quant.Matrix {
	m := &quant.Matrix{DType: d, N: n, K: k, Factor: 1}
	if d.Float() {
		m.F = make([]float32, n*k)
		for i := range m.F {
			m.F[i] = float32(r.IntN(255)-127) / 64
		}
		return m
	}
	top := 7
	if d == ir.W8 {
		top = 127
	}
	for range n * k {
		m.Q = append(m.Q, int8(r.IntN(2*top+1)-top))
	}
	for range n * k / d.Group(k) {
		m.Scale = append(m.Scale, quant.F16(0x1p-10+r.Float32()/2))
	}
	return m
}

func TestPackingErrors(t *testing.T) {
	small := randomMatrix(rand.New(rand.NewPCG(1, 2)), ir.W4G32, 2, 64)
	small.Scale[2] = quant.F16(0x1p-11)
	require.EqualError(t, Packing().Pack(make([]byte, 192), small),
		"packing qnn: row 1, block 0: scale 0.00048828125 is below 2^-10, a 16th of which half precision has not: pack the checkpoint with --encoding w8")
	require.EqualError(t, Packing().Pack(make([]byte, 128), small), "packing qnn: 128 bytes for w4g32[2,64], want 192")
	_, err := Packing().Unpack(make([]byte, 64), ir.Tensor(ir.W8, ir.N(2), ir.N(64)))
	require.EqualError(t, err, "packing qnn: 64 bytes for w8[2,64], want 192")
	for _, c := range []struct {
		t    ir.Type
		want string
	}{
		{ir.Tensor(ir.W4Full32, ir.N(2), ir.N(64)), "packing qnn has no form of w4full32[2,64], whose codes reach -8: pack with --encoding w4: unsupported"},
		{ir.Tensor(ir.F32, ir.N(2), ir.P), "packing qnn has no form of f32[2,P], which is no matrix of numbers: unsupported"},
		{ir.Tensor(ir.A8, ir.N(2), ir.N(64)), "packing qnn has no form of a8[2,64], which is no matrix of numbers: unsupported"},
		{ir.Tensor(ir.W4G32, ir.N(2), ir.N(40)), "packing qnn has no form of w4g32[2,40], whose rows are not whole groups: unsupported"},
		{ir.Tensor(ir.F32, ir.N(2)), "packing qnn has no form of f32[2], which is no matrix of numbers: unsupported"},
	} {
		_, err := Packing().Size(c.t)
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, lower.ErrUnsupported)
	}
}
