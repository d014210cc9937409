package lower_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

func typ(t *testing.T, s string) ir.Type {
	t.Helper()
	ty, err := ir.ParseType(s)
	require.NoError(t, err)
	return ty
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		typ       string
		row, size int64
	}{
		{"f32[5,64]", 256, 1280},
		{"f32[5,2,3]", 24, 120},
		{"i32[7]", 4, 28},
		{"bf16[3,10]", 20, 60},
		{"a8[3,64]", 128, 384},               // 64 codes, a line of one scale
		{"a8[3,96]", 192, 576},               // 96 codes, a gap of 32, a line
		{"a8g128[2,4096]", 4096 + 128, 8448}, // 32 scales are two lines
		{"grow(f32[3,5],bf16[3,5])", 0, 64 + 64},
	} {
		ty := typ(t, c.typ)
		if ty.DType != ir.State {
			require.Equal(t, c.row, lower.RowBytes(ty), c.typ)
		}
		require.Equal(t, c.size, lower.Size(ty), c.typ)
	}
}

func TestRowsAndParts(t *testing.T) {
	mem := lower.Wrap(make([]float32, 64))
	b := lower.Buffer{Mem: mem, Len: 80, Type: typ(t, "f32[5,4]")}
	part := b.Rows(2, 4)
	require.Equal(t, lower.Buffer{Mem: mem, Off: 32, Len: 32, Type: typ(t, "f32[2,4]")}, part)
	require.Len(t, part.Bytes(), 32)
	lower.F32(part.Bytes())[0] = 7
	require.Equal(t, float32(7), lower.F32(mem.Bytes())[8])

	state := lower.Buffer{Mem: mem, Len: 128, Type: typ(t, "grow(f32[3,5],bf16[3,5])")}
	parts := state.Parts()
	require.Equal(t, int64(0), parts[0].Off)
	require.Equal(t, int64(60), parts[0].Len)
	require.Equal(t, int64(64), parts[1].Off)
	require.Equal(t, int64(30), parts[1].Len)
	require.Nil(t, lower.Buffer{}.Bytes())
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		typ  string
		size int64
	}{{"f32[10]", 40}, {"bf16[3,4]", 24}, {"w8[3,64]", 3 * 66}} {
		n, err := lower.PlainSize(typ(t, c.typ))
		require.NoError(t, err)
		require.Equal(t, c.size, n)
	}
	for _, s := range []string{"w4g32[3,64]", "f32[T]", "a8[3,64]", "f32[2147483648,2147483648,2147483648]"} {
		_, err := lower.PlainSize(typ(t, s))
		require.Error(t, err, s)
	}
	m, err := quant.Encode(ir.W8, 2, 3, []float32{1, -2, 4, 0, 0, 0})
	require.NoError(t, err)
	dst := make([]byte, 10)
	require.NoError(t, lower.PackPlain(dst, m))
	require.Equal(t, []int8{m.Q[0], m.Q[1], m.Q[2]}, lower.I8(dst[:3]))
	require.Equal(t, []uint16{m.Scale[0]}, []uint16{uint16(dst[3]) | uint16(dst[4])<<8})
	w4, err := quant.Encode(ir.W4G32, 1, 32, make([]float32, 32))
	require.NoError(t, err)
	require.EqualError(t, lower.PackPlain(dst, w4), "no plain form of w4g32")
}

func TestViews(t *testing.T) {
	b := lower.Wrap([]int32{1, -1}).Bytes()
	require.Equal(t, []byte{1, 0, 0, 0, 255, 255, 255, 255}, b)
	require.Equal(t, []int32{1, -1}, lower.I32(b))
	require.Equal(t, []uint16{1, 0, 65535, 65535}, lower.U16(b))
	require.Nil(t, lower.F32(nil))
	require.PanicsWithValue(t, "lower: view of unaligned bytes", func() { lower.F32(b[1:5]) })
	require.Empty(t, lower.Wrap([]float32(nil)).Bytes())
}

func TestIsMatrix(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse("graph g\n  %1:x = input : f32[T,4]\n  %2:n = weight offset=0 : f32[4]\n  %3:w = weight offset=0 : f32[8,4]\n  %4 = rmsnorm %1 %2 eps=0.1 : f32[T,4]\n  %5 = matmul %4 %3 : f32[T,8]\n  return %5\n", ops)
	require.NoError(t, err)
	g := m.Graphs[0]
	require.False(t, lower.IsMatrix(g, g.Value("n")))
	require.True(t, lower.IsMatrix(g, g.Value("w")))
}

func TestUnpackPlain(t *testing.T) {
	for _, m := range []*quant.Matrix{
		{DType: ir.W8, N: 2, K: 3, Q: []int8{1, -2, 3, 4, -127, 6}, Scale: []uint16{0x3c00, 0x4000}, Factor: 1},
		{DType: ir.F16, N: 2, K: 2, F: []float32{1, -0.5, 65504, 0}, Factor: 1},
		{DType: ir.BF16, N: 1, K: 2, F: []float32{1, -3}, Factor: 1},
		{DType: ir.F32, N: 1, K: 2, F: []float32{1.0000001, -3}, Factor: 1},
	} {
		ty := ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K))
		size, err := lower.WeightSize(lower.Packing{}, ty, false)
		require.NoError(t, err)
		b := make([]byte, size)
		require.NoError(t, lower.PackPlain(b, m))
		got, err := lower.UnpackPlain(b, ty)
		require.NoError(t, err)
		require.Equal(t, m, got)
		_, err = lower.UnpackPlain(b[:size-1], ty)
		require.EqualError(t, err, fmt.Sprintf("%d bytes hold no %s, which takes %d", size-1, ty, size))
	}
}

func TestCheckFactor(t *testing.T) {
	for _, f := range []float32{1, 0.25, 1 << 40, 1e-45} {
		require.NoError(t, lower.CheckFactor(f))
	}
	for _, f := range []float32{0, -1, 3, 1.5, float32(math.Inf(1)), float32(math.NaN())} {
		require.EqualError(t, lower.CheckFactor(f), fmt.Sprintf("factor is %v, want a power of two", f))
	}
}
