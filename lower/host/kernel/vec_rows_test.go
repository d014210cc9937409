package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

func TestQuantizeA8Sets(t *testing.T) {
	for _, k := range append(sizes(), 128, 256, 384, 2048) {
		for _, blocks := range []bool{false, true} {
			if blocks && k%a8Block != 0 {
				continue
			}
			const rows = 4
			x := values(t, rows*k, 1)
			for r, scale := range []float32{1, 1e-38, 1e37, 1e-44} {
				for i := range x[r*k : (r+1)*k] {
					x[r*k+i] *= scale
				}
			}
			size := rows * a8RowBytes(k, blocks)
			want, got := make([]byte, size), pages(t, size)
			require.NoError(t, plain.QuantizeA8(want, x, rows, k, blocks))
			for _, s := range vecSets() {
				for i := range got {
					got[i] = 0xee
				}
				require.NoError(t, s.QuantizeA8(got, x, rows, k, blocks))
				require.Equal(t, want, got, "%s rows of %d, blocks=%v", s, k, blocks)
			}
		}
	}
}

// TestQuantizeA8Ties has halves, which round to even, and all codes.
func TestQuantizeA8Ties(t *testing.T) {
	x := []float32{127}
	for v := float32(-127); v <= 127; v += 0.25 {
		x = append(x, v, math.Nextafter32(v, 200), math.Nextafter32(v, -200))
	}
	want, got := make([]byte, a8RowBytes(len(x), false)), make([]byte, a8RowBytes(len(x), false))
	require.NoError(t, plain.QuantizeA8(want, x, 1, len(x), false))
	for _, s := range vecSets() {
		require.NoError(t, s.QuantizeA8(got, x, 1, len(x), false))
		require.Equal(t, want, got, s.String())
	}
}

func bytesOf(x []float32) []byte {
	b := make([]byte, 4*len(x))
	lower.Encode(b, x, ir.F32)
	return b
}

func TestConvertSets(t *testing.T) {
	x := make([]float32, 0, 1<<17)
	for h := range 1 << 16 { // all bfloat16 with what rounds down, is a tie, and rounds up
		for _, low := range []uint32{0, 0x7fff, 0x8000, 0x8001, 0xffff} {
			x = append(x, math.Float32frombits(uint32(h)<<16|low))
		}
	}
	for e := range 64 { // where f16 rounds
		for _, m := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x3001, 0x7fefff, 0x7ff000, 0x7fffff} {
			x = append(x, math.Float32frombits(uint32(95+e)<<23|m), -math.Float32frombits(uint32(95+e)<<23|m))
		}
	}
	bits := make([]byte, 1<<17)
	for h := range 1 << 16 {
		bits[2*h], bits[2*h+1] = byte(h), byte(h>>8)
	}
	for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
		size := d.Bits() / 8
		for _, s := range vecSets() {
			for _, n := range append(sizes(), len(x)) {
				src := values(t, n, 1, odd...)
				if n == len(x) {
					src = x
				}
				want, got := make([]byte, size*n), pages(t, size*n)
				lower.Encode(want, src, d)
				s.Encode(got, src, d)
				require.Equal(t, want, got, "%s encodes %d to %s", s, n, d)
			}
			for _, n := range append(sizes(), len(bits)/size) {
				src := pages(t, size*n)
				copy(src, bits[len(bits)-len(src)/4*2:])
				copy(src, bits)
				want, got := make([]float32, n), values(t, n, 2)
				lower.Decode(want, src, d)
				s.Decode(got, src, d)
				require.Equal(t, bytesOf(want), bytesOf(got), "%s decodes %d of %s", s, n, d)
			}
		}
	}
}

func TestScatterAddSets(t *testing.T) {
	const n, tokens = 77, 9
	rows := []int32{3, 0, 8, 3, 3, 7}
	x, w := values(t, len(rows)*n, 1), normal(len(rows), 2)
	for _, s := range vecSets() {
		for from := 0; from < n; from += 5 {
			for to := from; to <= n; to += 3 {
				for _, w := range [][]float32{w, nil} {
					want, got := normal(tokens*n, 3), values(t, tokens*n, 3)
					require.NoError(t, plain.ScatterAdd(want[from:], n, x[from:], n, to-from, rows, w))
					require.NoError(t, s.ScatterAdd(got[from:], n, x[from:], n, to-from, rows, w))
					requireBits(t, want, got, "%s columns %d to %d", s, from, to)
				}
			}
		}
		y := values(t, tokens*n, 3)
		require.EqualError(t, s.ScatterAdd(y, n, x, n, n, []int32{0, tokens, 1, 1, 1, 1}, nil), "scatter_add: row 9 of 9")
	}
}

func TestRotateSets(t *testing.T) {
	pos := []int32{0, 1, 2, 3, 1000, 4095, 131071, 1 << 20, 17}
	for _, r := range []Rotary{
		{Heads: 1, D: 2}, {Heads: 3, D: 6}, {Heads: 2, D: 34}, {Heads: 5, D: 64}, {Heads: 2, D: 96}, {Heads: 1, D: 62},
		{Heads: 2, D: 128, Factor: 40, Low: 10, High: 23, Scale: 1.3}, {Heads: 2, D: 70, Factor: 4, Low: 8, High: 8}, {Heads: 1, D: 600}, {Heads: 130, D: 128},
	} {
		r.Theta = 10000
		for _, r.Interleaved = range []bool{false, true} {
			size := r.Heads * r.D
			x, want := values(t, len(pos)*size, 1), make([]float32, len(pos)*size)
			plain.Rotate(r, want, x, pos)
			for _, s := range vecSets() {
				got := values(t, len(x), 2)
				s.Rotate(r, got, x, pos)
				nearness{0, 1e-6}.require(t, want, got, "%s %+v: three roundings of values up to 5", s, r)
				for row, p := range pos {
					one := slices.Clone(x[row*size : (row+1)*size])
					s.Rotate(r, one, one, []int32{p})
					requireBits(t, got[row*size:(row+1)*size], one, "%s %+v row %d alone and in place", s, r, row)
				}
			}
		}
	}
}

// TestConvSets has chunks of a sequence equal the whole, bit for bit.
func TestConvSets(t *testing.T) {
	for _, keep := range []int{1, 2, 3, convMost - 1, convMost} {
		const d, n = convColumns + 21, 12
		x, taps := values(t, n*d, 1), values(t, d*(keep+1), 2)
		for i := range x {
			x[i] = math.Float32frombits(math.Float32bits(x[i]) &^ 0xffff) // a window in bf16 keeps it
		}
		want := make([]float32, n*d)
		fresh := func() *Window {
			return &Window{DType: ir.BF16, Keep: keep, D: d, Data: make([]byte, 2*keep*d)}
		}
		plain.Conv(want, x, taps, fresh(), []int32{0, n}, 0, d)
		for _, s := range vecSets() {
			whole := values(t, n*d, 3)
			s.Conv(whole, x, taps, fresh(), []int32{0, n}, 0, d)
			nearness{0, 5e-6}.require(t, want, whole, "%s keep %d", s, keep)
			for chunk := 1; chunk < n; chunk++ {
				got, win := values(t, n*d, 4), fresh()
				for from := 0; from < n; from += chunk {
					to := min(n, from+chunk)
					seq := []int32{0, int32(to - from)}
					s.Conv(got[from*d:to*d], x[from*d:to*d], taps, win, seq, 0, 5)
					s.Conv(got[from*d:to*d], x[from*d:to*d], taps, win, seq, 5, d)
					Shift(win, seq, x[from*d:to*d])
				}
				requireBits(t, whole, got, "%s keep %d in chunks of %d", s, keep, chunk)
			}
		}
	}
}
