package quant

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// TestEncodeW4Exact encodes what an encoding can say without error.
func TestEncodeW4Exact(t *testing.T) {
	w := make([]float32, 3*32)
	q := make([]int8, len(w))
	for i := range 32 {
		q[i] = int8(i%15 - 7)
		w[i] = float32(q[i]) * 0.375
		q[64+i] = -q[i] // row 1 is zeros
		w[64+i] = float32(q[64+i]) * 3
	}
	m, err := Encode(ir.W4G32, 3, 32, w)
	require.NoError(t, err)
	require.Equal(t, q, m.Q)
	require.Equal(t, []uint16{F16(0.09375), F16(0x1p-10), F16(0.75)}, m.Scale)
	require.Equal(t, float32(4), m.Factor)
	require.Equal(t, w, m.Values())
}

// TestEncodeW4Clips has one value that is better cut off.
func TestEncodeW4Clips(t *testing.T) {
	w := make([]float32, 32)
	for i := range w {
		w[i] = float32(i%15-7) * 0.5
	}
	w[0] = -5 // of 3.5 the rest is exact
	m, err := Encode(ir.W4G32, 1, 32, w)
	require.NoError(t, err)
	require.Equal(t, int8(-7), m.Q[0])
	require.Less(t, squaredError(m, w), plainError(m, w))
}

// TestEncodeW4Floor has a group far below the largest: its scale is raised.
func TestEncodeW4Floor(t *testing.T) {
	w := make([]float32, 96)
	w[0], w[32], w[33], w[34], w[64] = 7, 7e-3, -1e-3, 4e-4, 1e-30
	m, err := Encode(ir.W4G32, 1, 96, w)
	require.NoError(t, err)
	require.Equal(t, []uint16{F16(0.5), F16(0x1p-10), F16(0x1p-10)}, m.Scale)
	require.Equal(t, float32(2), m.Factor)
	require.Equal(t, []int8{4, -1, 0}, m.Q[32:35])
	require.Equal(t, int8(0), m.Q[64])
}

func TestEncodeZeros(t *testing.T) {
	for _, d := range []ir.DType{ir.W8, ir.W4G32, ir.W4Full32} {
		m, err := Encode(d, 2, 32, make([]float32, 64))
		require.NoError(t, err)
		require.Equal(t, float32(1), m.Factor, d.String())
		require.Equal(t, make([]float32, 64), m.Values(), d.String())
		checkMatrix(t, m, make([]float32, 64))
	}
}

func TestEncodeProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct {
		name   string
		source func() float32
	}{
		{"normal", func() float32 { return float32(r.NormFloat64()) * 0.02 }},
		{"outliers", func() float32 { return float32(math.Pow(r.NormFloat64(), 5)) }},
		{"subnormal", func() float32 { return math.Float32frombits(r.Uint32() & 0x800fffff) }},
		{"huge", func() float32 { return float32(r.NormFloat64() * 3e37) }},
		{"largest", func() float32 { return math.MaxFloat32 * float32(r.IntN(3)-1) }},
		{"sparse", func() float32 { return float32(max(0, r.NormFloat64()-2)) }},
		{"any bits", func() float32 { return math.Float32frombits(r.Uint32() & 0xff7fffff) }},
	} {
		w := make([]float32, 5*384)
		for i := range w {
			w[i] = c.source()
		}
		for _, d := range []ir.DType{ir.W8, ir.W4G32, ir.W4G64, ir.W4G128} {
			t.Run(c.name+" "+d.String(), func(t *testing.T) {
				m, err := Encode(d, 5, 384, w)
				require.NoError(t, err)
				checkMatrix(t, m, w)
				negated := make([]float32, len(w))
				for i, v := range w {
					negated[i] = -v
				}
				mirror, err := Encode(d, 5, 384, negated)
				require.NoError(t, err)
				require.Equal(t, m.Scale, mirror.Scale)
				for i, q := range m.Q {
					if mirror.Q[i] != -q {
						t.Fatalf("code %d of w is %d, of -w %d", i, q, mirror.Q[i])
					}
				}
			})
		}
	}
}

// checkMatrix checks what holds for every encoded matrix.
func checkMatrix(t *testing.T, m *Matrix, w []float32) {
	t.Helper()
	low, high, floor := int8(-7), int8(7), 0x1p-10
	switch {
	case m.DType == ir.W8:
		low, high, floor = -127, 127, 0x1p-14
	case m.DType.Full():
		low, floor = -8, math.Inf(-1)
		require.Equal(t, float32(1), m.Factor)
	}
	for i, q := range m.Q {
		if q < low || q > high {
			t.Fatalf("%s: code %d is %d", m.DType, i, q)
		}
	}
	most := 0.0
	for i, h := range m.Scale {
		s := float64(FromF16(h))
		if !(s >= floor) {
			t.Fatalf("%s: scale %d is %g, below %g", m.DType, i, s, floor)
		}
		most = max(most, s)
	}
	if m.DType.Full() {
		return
	}
	frac, exp := math.Frexp(float64(m.Factor))
	require.Equal(t, 0.5, frac, "factor %g is no power of two", m.Factor)
	if Largest(w) > 0 {
		require.True(t, most < 1 && (most >= 0.5 || exp-1 == -126), "%s: largest scale is %g", m.DType, most)
	}
	if m.DType != ir.W8 {
		got, plain := squaredError(m, w), plainError(m, w)
		require.True(t, got <= plain*(1+1e-12), "%s: squared error %g, of max/7 %g", m.DType, got, plain)
		return
	}
	for n := range m.N {
		half := float64(FromF16(m.Scale[n])) * float64(m.Factor) * 0.501
		for k, v := range w[n*m.K : (n+1)*m.K] {
			if d := math.Abs(float64(v) - float64(m.At(n, k))); !(d <= half) {
				t.Fatalf("w8 [%d,%d] of %g is %g, want it within %g", n, k, v, m.At(n, k), half)
			}
		}
	}
}

func squaredError(m *Matrix, w []float32) float64 {
	sum := 0.0
	for i, v := range w {
		d := float64(v) - float64(m.At(i/m.K, i%m.K))
		sum += d * d
	}
	return sum
}

// plainError is the squared error of m's groups with scales of max|w|/7, rounded
// to f16 as m's are, or with the least scale where m has that: a better one below
// it may have been raised to it.
func plainError(m *Matrix, w []float32) float64 {
	g, sum := m.DType.Group(m.K), 0.0
	for i := 0; i < len(w); i += g {
		factor := float64(m.Factor)
		s := max(float64(FromF16(F16(float32(float64(Largest(w[i:i+g]))/7/factor)))), 0x1p-10) * factor
		if 7*s > math.MaxFloat32 {
			s -= 0x1p-11 * factor
		}
		if m.Scale[i/g] == F16(0x1p-10) {
			s = 0x1p-10 * factor
		}
		for _, v := range w[i : i+g] {
			d := float64(v) - s*max(-7, min(7, math.RoundToEven(float64(v)/s)))
			sum += d * d
		}
	}
	return sum
}

func FuzzEncode(f *testing.F) {
	for _, bits := range []uint32{0, 1 << 31, 1, 0x007fffff, 0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0xc7000000} {
		f.Add(binary.LittleEndian.AppendUint32(nil, bits), uint8(1), uint8(1), uint8(bits))
		f.Add(binary.LittleEndian.AppendUint32([]byte{0, 0, 128, 63}, bits), uint8(3), uint8(2), uint8(7))
	}
	f.Add([]byte{0, 14, 1, 0, 0xbc, 7, 1, 0, 15, 13, 1, 0, 0, 14, 1, 0}, uint8(0), uint8(23), uint8(0)) // scales times the factor are no f32
	f.Fuzz(func(t *testing.T, data []byte, rows, cols, d uint8) {
		dtype := ir.W8 + ir.DType(d)%7
		n, k := int(rows)%4+1, (int(cols)%3+1)*128
		if dtype == ir.W8 {
			k = int(cols) + 1
		}
		w := make([]float32, n*k)
		for i := range w {
			if len(data) >= 4 {
				w[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[i%(len(data)/4)*4:])) * float32(i%3-1)
			}
		}
		m, err := Encode(dtype, n, k, w)
		if err != nil {
			most := float64(Largest(w))
			require.True(t, most > math.MaxFloat32 || most != most || dtype.Full() && most > 65504*8 || !dtype.Full() && most <= 0x1p-137, "%v", err)
			return
		}
		checkMatrix(t, m, w)
		again, err := Encode(dtype, n, k, w)
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}
