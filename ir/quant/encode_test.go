package quant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		k    int
		want ir.DType
	}{
		{ir.W4G128, 2048, ir.W4G128},
		{ir.W4G128, 1408, ir.W4G128},
		{ir.W4G128, 192, ir.W4G64},
		{ir.W4G128, 96, ir.W4G32},
		{ir.W4G64, 2048, ir.W4G64},
		{ir.W4G64, 96, ir.W4G32},
		{ir.W4G32, 128, ir.W4G32},
		{ir.W4G64, 48, ir.W8},
		{ir.W4G32, 30, ir.W8},
		{ir.W4Full128, 192, ir.W4Full64},
		{ir.W4Full32, 2048, ir.W4Full32},
		{ir.W4Full64, 40, ir.W8},
		{ir.W8, 7, ir.W8},
		{ir.F32, 7, ir.F32},
		{ir.BF16, 96, ir.BF16},
	} {
		require.Equal(t, c.want.String(), Fit(c.d, c.k).String(), "Fit(%s, %d)", c.d, c.k)
	}
}

func TestEncodeErrors(t *testing.T) {
	row := func(at int, v float32) []float32 {
		w := make([]float32, 128)
		w[at] = v
		return w
	}
	for _, c := range []struct {
		d    ir.DType
		n, k int
		w    []float32
		want string
	}{
		{ir.F32, 2, 64, row(65, nan), "quant: weight [1,1] is NaN"},
		{ir.BF16, 2, 64, row(63, -inf), "quant: weight [0,63] is -Inf"},
		{ir.W8, 2, 64, row(0, inf), "quant: weight [0,0] is +Inf"},
		{ir.W4G32, 4, 32, row(127, nan), "quant: weight [3,31] is NaN"},
		{ir.BF16, 2, 64, row(70, math.MaxFloat32), "quant: weight [1,6] is 3.4028235e+38, beyond bf16"},
		{ir.F16, 2, 64, row(3, -65520), "quant: weight [0,3] is -65520, beyond f16"},
		{ir.W4Full32, 4, 32, row(40, 1e6), "quant: weight [1,8] is 1e+06, too large for a scale of w4full32"},
		{ir.W8, 2, 64, row(70, -1e-43), "quant: weight [1,6] is -1e-43, the largest of its matrix, and too small for w8"},
		{ir.W4G32, 4, 32, row(127, 1e-45), "quant: weight [3,31] is 1e-45, the largest of its matrix, and too small for w4g32"},
		{ir.W4G64, 4, 32, row(0, 0), "quant: rows of 32 values cannot be w4g64"},
		{ir.A8, 4, 32, row(0, 0), "quant: rows of 32 values cannot be a8"},
		{ir.I32, 4, 32, row(0, 0), "quant: rows of 32 values cannot be i32"},
		{ir.F32, 4, 31, row(0, 0), "quant: 128 values are no matrix of 4 by 31"},
		{ir.F32, 0, 32, nil, "quant: 0 values are no matrix of 0 by 32"},
		{ir.F32, 1 << 62, 4, nil, "quant: 0 values are no matrix of 4611686018427387904 by 4"},
	} {
		_, err := Encode(c.d, c.n, c.k, c.w)
		require.EqualError(t, err, c.want, "Encode(%s, %d, %d)", c.d, c.n, c.k)
	}
}

// TestEncodeSmall has the smallest weights that do not all become zero, or become so beside larger ones.
func TestEncodeSmall(t *testing.T) {
	for _, c := range []struct {
		d ir.DType
		w []float32
	}{
		{ir.W8, []float32{0x1p-140, 1e-45}},
		{ir.W4G32, []float32{0x1p-136, 1e-45}},
		{ir.W4Full32, []float32{1e-9, 1e-45}},
		{ir.BF16, []float32{1e-45}},
		{ir.F16, []float32{1e-9}},
	} {
		w := make([]float32, 64)
		copy(w[32:], c.w)
		m, err := Encode(c.d, 2, 32, w)
		require.NoError(t, err, "%s of %v", c.d, c.w)
		if c.d == ir.W8 || c.d == ir.W4G32 {
			require.Equal(t, c.w[0], m.At(1, 0), c.d.String())
		}
	}
}

// TestEncodeTableSmall lets a block of a table become zero, unless the whole table may have.
func TestEncodeTableSmall(t *testing.T) {
	w := []float32{0, 1e-43, -1e-44, 0}
	m, err := EncodeTable(ir.W8, 2, 2, w, TableFactor(1))
	require.NoError(t, err)
	require.Equal(t, make([]float32, 4), m.Values())
	_, err = EncodeTable(ir.W8, 2, 2, w, TableFactor(1e-43))
	require.EqualError(t, err, "quant: weight [0,1] is 1e-43, the largest of its matrix, and too small for w8")
}

// TestSmallValues: a code times its scale is multiplied by the factor, not the code by
// what f32 leaves of the two.
func TestSmallValues(t *testing.T) {
	m := &Matrix{DType: ir.W8, N: 1, K: 3, Q: []int8{127, -126, 1}, Scale: []uint16{F16(0x1.004p-14)}, Factor: 0x1p-126}
	want := []float32{127 * 0x1.004p-140, -126 * 0x1.004p-140, 0x1p-140}
	require.Equal(t, want, m.Values())
	for i, v := range want {
		require.Equal(t, v, m.At(0, i))
	}
}

func TestEncodePlain(t *testing.T) {
	in := []float32{0, 1, -1, 1.00390625, 1.01171875, 1.0048828125, 1e-40, 65504, 65519, 6e-8, 3.1415927}
	for _, c := range []struct {
		d    ir.DType
		want []float32
	}{
		{ir.F32, in},
		{ir.BF16, []float32{0, 1, -1, 1, 1.015625, 1.0078125, 0x1p-133, 65536, 65536, 0x1.02p-24, 3.140625}},
		{ir.F16, []float32{0, 1, -1, 1.00390625, 1.01171875, 1.0048828125, 0, 65504, 65504, 5.9604645e-08, 3.140625}},
	} {
		m, err := Encode(c.d, 1, len(in), in)
		require.NoError(t, err)
		require.Equal(t, c.want, m.Values(), c.d.String())
		again, err := Encode(c.d, 1, len(in), m.Values())
		require.NoError(t, err)
		require.Equal(t, m, again, "%s of its own values", c.d)
	}
}

func TestEncodeW8(t *testing.T) {
	w := []float32{
		127, -127, 63.5, 62.5, 0.4, -0.6, // scale 1
		0, 0, 0, 0, 0, 0,
		1e-30, -1e-30, 0, 0, 0, 0, // below what a scale can say
		-254, 1, 3, 0, 254, 127, // scale 2
	}
	m, err := Encode(ir.W8, 4, 6, w)
	require.NoError(t, err)
	require.Equal(t, float32(4), m.Factor)
	require.Equal(t, []uint16{F16(0.25), F16(0x1p-14), F16(0x1p-14), F16(0.5)}, m.Scale)
	require.Equal(t, []int8{
		127, -127, 64, 62, 0, -1,
		0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0,
		-127, 0, 2, 0, 127, 64,
	}, m.Q)
	require.Equal(t, float32(-254), m.At(3, 0))
}

func TestViews(t *testing.T) {
	w := gauss(6*128, 4)
	for d := ir.F32; d <= ir.W4Full128; d++ {
		if !d.Float() && !d.Encoded() {
			continue
		}
		m, err := Encode(d, 6, 128, w)
		require.NoError(t, err)
		all := m.Values()
		part := m.RowsOf(2, 5)
		require.Equal(t, 3, part.N)
		require.Equal(t, all[2*128:5*128], part.Values(), d.String())
		for i, v := range all {
			require.Equal(t, v, m.At(i/128, i%128), "%s [%d,%d]", d, i/128, i%128)
		}
	}
}
