package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

// near requires got to be want within some units in the last place of f32.
func near(t *testing.T, want []float64, got []float32, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		if d := math.Abs(w - float64(got[i])); !(d <= 3e-7*math.Abs(w)+1e-30) {
			t.Fatalf("%s: value %d is %g, want %g within 3e-7 of it (a few roundings to f32)", what, i, got[i], w)
		}
	}
}

func TestRMSNorm(t *testing.T) {
	const rows, k = 3, 70
	x, gain := normal(rows*k, 1), normal(k, 2)
	want := make([]float64, rows*k)
	for r := range rows {
		sum := 0.0
		for i := range k {
			sum += float64(x[r*k+i]) * float64(x[r*k+i])
		}
		for i := range k {
			want[r*k+i] = float64(x[r*k+i]) / math.Sqrt(sum/k+1e-5) * float64(gain[i])
		}
	}
	plain.RMSNorm(x, x, gain, 1e-5)
	near(t, want, x, "rmsnorm")
	zero := make([]float32, 2*k)
	plain.RMSNorm(zero, zero, gain, 1e-5)
	require.Equal(t, make([]float32, 2*k), zero)
}

func TestSoftmax(t *testing.T) {
	x := append([]float32{1, 2, 3, 1e4, 1e4, -1e4, -inf, 0, 0}, 0, -200, 88)
	want := make([]float64, len(x))
	for r := 0; r < len(x); r += 3 {
		top := float64(max(x[r], x[r+1], x[r+2]))
		for i := range 3 {
			want[r+i] = math.Exp(float64(x[r+i])-top) / (math.Exp(float64(x[r])-top) + math.Exp(float64(x[r+1])-top) + math.Exp(float64(x[r+2])-top))
		}
	}
	plain.Softmax(x, x, 3)
	near(t, want, x, "softmax")
	bad := []float32{1, nan, 2, 0, 0, 0}
	plain.Softmax(bad, bad, 3)
	require.True(t, bad[0] != bad[0] && bad[2] != bad[2], "softmax of a NaN row is %v", bad[:3])
	require.Equal(t, float32(1)/3, bad[3])
}

func TestSum(t *testing.T) {
	dst := make([]float32, 2)
	plain.Sum(dst, []float32{1 << 24, 1, 1, -1, 2, 3}, 3)
	require.Equal(t, []float32{1<<24 + 2, 4}, dst)
}

func TestActivations(t *testing.T) {
	x := append(normal(300, 3), 0, 20, -20, 100, -100, 1e30, -1e30)
	up := normal(len(x), 4)
	silu, sigmoid := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		sigmoid[i] = 1 / (1 + math.Exp(-float64(v)))
		silu[i] = float64(v) * sigmoid[i]
	}
	got, gated := make([]float32, len(x)), make([]float32, len(x))
	plain.Sigmoid(got, x)
	near(t, sigmoid, got, "sigmoid")
	plain.SiLU(got, x)
	near(t, silu, got, "silu")
	plain.SiLUMul(gated, x, up)
	plain.Apply(Mul, got, got, up, len(x), Same)
	require.Equal(t, got, gated, "silumul is silu, then mul")
}

func TestBinary(t *testing.T) {
	x := []float32{1, 2, 3, 4, 5, 6}
	for _, c := range []struct {
		op   Binary
		y    []float32
		form Form
		want []float32
	}{
		{Add, []float32{1, 1, 1, 2, 2, 2}, Same, []float32{2, 3, 4, 6, 7, 8}},
		{Sub, []float32{1, 1, 1, 2, 2, 2}, Same, []float32{0, 1, 2, 2, 3, 4}},
		{Mul, []float32{1, 1, 1, 2, 2, 2}, Same, []float32{1, 2, 3, 8, 10, 12}},
		{Div, []float32{1, 1, 1, 2, 2, 2}, Same, []float32{1, 2, 3, 2, 2.5, 3}},
		{Add, []float32{1, 10, 100}, Vector, []float32{2, 12, 103, 5, 15, 106}},
		{Sub, []float32{1, 10, 100}, Vector, []float32{0, -8, -97, 3, -5, -94}},
		{Mul, []float32{1, 10, 100}, Vector, []float32{1, 20, 300, 4, 50, 600}},
		{Div, []float32{1, 2, 4}, Vector, []float32{1, 1, 0.75, 4, 2.5, 1.5}},
		{Add, []float32{1, 10}, Column, []float32{2, 3, 4, 14, 15, 16}},
		{Sub, []float32{1, 10}, Column, []float32{0, 1, 2, -6, -5, -4}},
		{Mul, []float32{1, 10}, Column, []float32{1, 2, 3, 40, 50, 60}},
		{Div, []float32{1, 2}, Column, []float32{1, 2, 3, 2, 2.5, 3}},
	} {
		got := slices.Clone(x)
		plain.Apply(c.op, got, got, c.y, 3, c.form)
		require.Equal(t, c.want, got, "op %d form %d", c.op, c.form)
	}
}

func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		x, y string
		want Form
	}{
		{"f32[2,3]", "f32[2,3]", Same},
		{"f32[3]", "f32[3]", Same},
		{"f32[2,3]", "bf16[3]", Vector},
		{"f32[2,4,3]", "f32[3]", Vector},
		{"f32[2,3]", "f32[2,1]", Column},
		{"f32[2,4,3]", "f32[2,4,1]", Column},
		{"f32[3]", "f32[1]", Column},
		{"f32[2,1]", "f32[2,1]", Same},
	} {
		x, err := ir.ParseType(c.x)
		require.NoError(t, err)
		y, err := ir.ParseType(c.y)
		require.NoError(t, err)
		require.Equal(t, c.want, FormOf(x, y), "%s with %s", c.x, c.y)
	}
}

func TestAffineClamp(t *testing.T) {
	x := []float32{1, -2, inf, nan}
	got := make([]float32, 4)
	plain.Affine(got, x, 1.5, 0.25)
	require.Equal(t, []float32{1.75, -2.75, inf}, got[:3])
	require.True(t, got[3] != got[3], "affine of NaN is %g", got[3])
	plain.Clamp(got, x, 1.5)
	require.Equal(t, []float32{1, -1.5, 1.5}, got[:3])
	require.True(t, got[3] != got[3], "clamp of NaN is %g", got[3])
}

func TestRoPE(t *testing.T) {
	const heads, d = 2, 6
	pos := []int32{0, 1, 7, 100000}
	for _, interleaved := range []bool{false, true} {
		x := normal(len(pos)*heads*d, 5)
		got := slices.Clone(x)
		plain.Rotate(Rotary{Heads: heads, D: d, Theta: 1e4, Interleaved: interleaved}, got, got, pos)
		for row := range len(pos) * heads {
			for i := range d / 2 {
				a, b := i, i+d/2
				if interleaved {
					a, b = 2*i, 2*i+1
				}
				angle := float64(pos[row/heads]) * math.Pow(1e4, -2*float64(i)/d)
				u, v := float64(x[row*d+a]), float64(x[row*d+b])
				for at, want := range map[int]float64{a: u*math.Cos(angle) - v*math.Sin(angle), b: v*math.Cos(angle) + u*math.Sin(angle)} {
					require.InDelta(t, want, got[row*d+at], 5e-7, "interleaved=%v row %d value %d: three roundings to f32 of values near 1", interleaved, row, at)
				}
			}
		}
	}
}

// TestRotaryFactor computes the mixed frequencies as they are defined.
func TestRotaryFactor(t *testing.T) {
	const d, p = 32, 100
	for _, c := range []struct{ factor, low, high, scale float64 }{{0, 1, 2, 0}, {1, 0, 8, 1}, {40, 3, 11, 1.2}, {8, -2, 30, 0.5}, {4, 5, 5, 1}, {4, 9, 5, 1}} {
		r := Rotary{Heads: 1, D: d, Theta: 1e4, Factor: c.factor, Low: c.low, High: c.high, Scale: c.scale}
		x := make([]float32, d)
		for i := range d / 2 {
			x[i] = 1
		}
		for _, s := range Sets() {
			got := make([]float32, d)
			s.Rotate(r, got, x, []int32{p})
			for i := range d / 2 {
				f := math.Pow(1e4, -2*float64(i)/d)
				switch ramp := (float64(i) - c.low) / (c.high - c.low); {
				case c.factor == 0:
				case c.high <= c.low && float64(i) >= c.low, c.high > c.low && ramp >= 1:
					f /= c.factor
				case c.high > c.low && ramp > 0:
					f = f*(1-ramp) + f/c.factor*ramp
				}
				scale := c.scale
				if scale == 0 {
					scale = 1
				}
				require.InDelta(t, scale*math.Cos(p*f), got[i], 2e-7, "%s %+v cosine of pair %d", s, c, i)
				require.InDelta(t, scale*math.Sin(p*f), got[i+d/2], 2e-7, "%s %+v sine of pair %d", s, c, i)
			}
		}
	}
}

func TestTopK(t *testing.T) {
	for _, c := range []struct {
		x    []float32
		want []int32
	}{
		{[]float32{1, 5, 3, 4}, []int32{1, 3, 2}},
		{[]float32{2, 2, 2, 2}, []int32{0, 1, 2}},
		{[]float32{0, 0, 0, 1}, []int32{3, 0, 1}},
		{[]float32{1, 7, 1, 7}, []int32{1, 3, 0}},
		{[]float32{-inf, inf, -inf, inf}, []int32{1, 3, 0}},
		{[]float32{float32(math.Copysign(0, -1)), 0, -1, 0}, []int32{0, 1, 3}},
	} {
		got := make([]int32, 3)
		require.NoError(t, plain.TopK(got, c.x, 4, 3))
		require.Equal(t, c.want, got, "topk of %v", c.x)
	}
	const rows = 5
	for _, n := range []int{1, 7, 16, 17, 64, 100, 256, 1024, 1025, 1500} {
		x := normal(rows*n, 6)
		for i := range x {
			x[i] = float32(math.Round(float64(4 * x[i]))) // many ties
		}
		for _, k := range []int{1, min(8, n), min(64, n)} {
			got := make([]int32, rows*k)
			require.NoError(t, plain.TopK(got, x, n, k))
			for r := range rows {
				want := make([]int32, n)
				for i := range want {
					want[i] = int32(i)
				}
				slices.SortStableFunc(want, func(a, b int32) int { return int(x[r*n+int(b)] - x[r*n+int(a)]) })
				require.Equal(t, want[:k], got[r*k:(r+1)*k], "row %d, %d of %d", r, k, n)
			}
		}
		x[3*n+n/2] = nan
		require.EqualError(t, plain.TopK(make([]int32, rows), x, n, 1), fmt.Sprintf("row 3: value %d is NaN", n/2))
	}
}

func TestGather(t *testing.T) {
	dst, x := make([]float32, 4), []float32{1, 2, 3, 4, 5, 6}
	require.NoError(t, Gather(dst, x, []int32{2, 0, 1, 1}, 3, 2))
	require.Equal(t, []float32{3, 1, 5, 5}, dst)
	require.EqualError(t, Gather(dst, x, []int32{2, 0, 1, 3}, 3, 2), "row 1: id 3 is not below 3")
	require.EqualError(t, Gather(dst, x, []int32{-1, 0, 1, 0}, 3, 2), "row 0: id -1 is not below 3")
}

func TestRows(t *testing.T) {
	dst := make([]byte, 4)
	require.NoError(t, GatherRows(dst, []byte("aabbcc"), []int32{2, 0}, 2))
	require.Equal(t, "ccaa", string(dst))
	require.EqualError(t, GatherRows(dst, []byte("aabbcc"), []int32{2, 3}, 2), "gather_rows: row 3 of 3")
	require.EqualError(t, GatherRows(dst, []byte("aabbcc"), []int32{-1}, 2), "gather_rows: row -1 of 3")

	x := []float32{1, 2, 3, 4}
	plain.ScaleRows(x, x, []float32{10, 0.5})
	require.Equal(t, []float32{10, 20, 1.5, 2}, x)
	plain.ScaleRows(nil, nil, nil)

	y := []float32{1, 1, 1, 1, 1, 1}
	require.NoError(t, plain.ScatterAdd(y, 2, x, 2, 1, []int32{0, 2}, []float32{2, 4}))
	require.NoError(t, plain.ScatterAdd(y[1:], 2, x[1:], 2, 2-1, []int32{0, 2}, []float32{2, 4}))
	require.Equal(t, []float32{21, 41, 1, 1, 7, 9}, y)
	require.NoError(t, plain.ScatterAdd(y, 2, x, 2, 2, []int32{1, 1}, nil))
	require.Equal(t, []float32{21, 41, 12.5, 23, 7, 9}, y)
	before := slices.Clone(y)
	require.EqualError(t, plain.ScatterAdd(y, 2, x, 2, 2, []int32{0, 3}, nil), "scatter_add: row 3 of 3")
	require.Equal(t, before, y)

	wide := filled(6, canary)
	CopyColumns(wide[1:], 3, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2, 2)
	require.Equal(t, []float32{canary, 1, 2, canary, 5, 6}, wide)
}

func TestTable(t *testing.T) {
	const rows, k = 5, 33
	for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16, ir.W8} {
		m := matrix(t, d, rows, k)
		size, err := lower.PlainSize(ir.Tensor(d, ir.N(rows), ir.N(k)))
		require.NoError(t, err)
		table := Table{DType: d, K: k, Factor: m.Factor}
		for n := range rows {
			if d != ir.W8 {
				row := make([]byte, k*d.Bits()/8)
				lower.Encode(row, m.F[n*k:(n+1)*k], d)
				table.Data = append(table.Data, row...)
				continue
			}
			for _, q := range m.Q[n*k : (n+1)*k] {
				table.Data = append(table.Data, byte(q))
			}
			table.Data = append(table.Data, byte(m.Scale[n]), byte(m.Scale[n]>>8))
		}
		require.EqualValues(t, size, len(table.Data), d.String())
		ids := []int32{4, 0, 4, 2}
		got := make([]float32, len(ids)*k)
		for _, factor := range []float32{m.Factor, 0x1p-126} { // of which scales are no f32
			m.Factor, table.Factor = factor, factor
			require.NoError(t, table.Rows(got, ids))
			for i, v := range got {
				require.Equal(t, m.At(int(ids[i/k]), i%k), v, "%s row %d value %d, factor %g", d, ids[i/k], i%k, factor)
			}
		}
		require.EqualError(t, table.Rows(got, []int32{5}), "embed: row 5 of 5")
		require.EqualError(t, table.Rows(got, []int32{-1}), "embed: row -1 of 5")
	}
}

func TestEncodeDecode(t *testing.T) {
	x := append(normal(20, 7), inf, -inf, 0, 1e-40, 65519)
	for d, round := range map[ir.DType]func(float32) float32{
		ir.F32:  func(v float32) float32 { return v },
		ir.F16:  func(v float32) float32 { return quant.FromF16(quant.F16(v)) },
		ir.BF16: func(v float32) float32 { return quant.FromBF16(quant.BF16(v)) },
	} {
		b, got := make([]byte, 4*len(x)), make([]float32, len(x))
		lower.Encode(b, x, d)
		lower.Decode(got, b, d)
		for i, v := range x {
			require.Equal(t, round(v), got[i], "%s of %g", d, v)
		}
	}
}
