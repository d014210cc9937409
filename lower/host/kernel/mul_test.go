package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// canary stands where a kernel must not write.
const canary = -12345

func filled(n int, v float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = v
	}
	return x
}

func TestMulF32(t *testing.T) {
	const rows = 11
	for _, d := range weightTypes {
		for _, s := range shapes(d) {
			m, n, k := matrix(t, d, s[0], s[1]), s[0], s[1]
			w, x, stride := packOf(t, m), normal(rows*k, 9), n+3
			dst := filled(rows*stride, canary)
			plain.MulF32(w, dst, stride, x, rows, 0, w.Panels())
			for i := range dst {
				r, c, want := i/stride, i%stride, float32(canary)
				if c < n {
					sum := 0.0
					for j := range k {
						sum += float64(x[r*k+j]) * float64(m.At(c, j))
					}
					want = float32(sum)
				}
				if dst[i] != want {
					t.Fatalf("%s[%d,%d] row %d column %d is %g, want %g", d, n, k, r, c, dst[i], want)
				}
			}
		}
	}
}

// naiveA8 is MulA8 by its documentation, from unpacked codes.
func naiveA8(m *quant.Matrix, x []byte, blocks bool, row, col int) float32 {
	g := m.DType.Group(m.K)
	segment := g
	if blocks {
		segment = min(g, 128)
	}
	x = x[row*a8RowBytes(m.K, blocks):]
	scale := func(i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(x[(m.K+63)/64*64+4*i:]))
	}
	acc := float32(0)
	for k := 0; k < m.K; k += segment {
		sum := int32(0)
		for i := k; i < k+segment; i++ {
			sum += int32(int8(x[i])) * int32(m.Q[col*m.K+i])
		}
		v := float32(float32(sum) * quant.FromF16(m.Scale[col*(m.K/g)+k/g]))
		if blocks {
			v *= scale(k / 128)
		}
		acc += v
	}
	if !blocks {
		acc *= scale(0)
	}
	return acc * m.Factor
}

func TestMulA8(t *testing.T) {
	const rows = 11
	for _, d := range weightTypes {
		for _, s := range shapes(d) {
			for _, blocks := range []bool{false, true} {
				n, k := s[0], s[1]
				if !d.Encoded() || blocks && k%128 != 0 {
					continue
				}
				m, stride := matrix(t, d, n, k), n+3
				w, x := packOf(t, m), quantized(t, rows, k, blocks)
				for r := range rows { // gaps may hold anything
					row := x[r*a8RowBytes(k, blocks):]
					for i := k; i < lower.ScaleOffset(k); i++ {
						row[i] = byte(200 + i)
					}
				}
				dst := filled(rows*stride, canary)
				plain.MulA8(w, dst, stride, A8{Data: x, Rows: rows, Blocks: blocks}, 0, w.Panels())
				for i := range dst {
					r, c, want := i/stride, i%stride, float32(canary)
					if c < n {
						want = naiveA8(m, x, blocks, r, c)
					}
					if dst[i] != want {
						t.Fatalf("%s[%d,%d] blocks=%v row %d column %d is %g, want %g", d, n, k, blocks, r, c, dst[i], want)
					}
				}
			}
		}
	}
}

// TestMulA8Extremes has the largest sums of products that int32 must hold.
func TestMulA8Extremes(t *testing.T) {
	const k = maxK
	for _, d := range []ir.DType{ir.W8, ir.W4Full128} {
		v := make([]float32, 2*k)
		for i := range k {
			v[i], v[k+i] = -8, 8
		}
		m, err := quant.Encode(d, 2, k, v)
		require.NoError(t, err)
		if d == ir.W4Full128 {
			for i := range k {
				m.Q[k+i], m.Scale[(k+i)/128] = 7, m.Scale[0]
			}
		}
		x, a8 := filled(2*k, 3), make([]byte, 2*a8RowBytes(k, false))
		for i := range k {
			x[i] = -3
		}
		require.NoError(t, plain.QuantizeA8(a8, x, 2, k, false))
		w, dst := packOf(t, m), make([]float32, 4)
		plain.MulA8(w, dst, 2, A8{Data: a8, Rows: 2}, 0, 1)
		for i, got := range dst {
			require.Equal(t, naiveA8(m, a8, false, i/2, i%2), got, "%s element %d", d, i)
		}
	}
}

// TestMulSplits computes each element alone and in any run of rows and panels: K1.
func TestMulSplits(t *testing.T) {
	const rows, n, k = 19, 130, 256
	for _, d := range weightTypes {
		w := packed(t, d, n, k)
		x := normal(rows*k, 3)
		run := func(name string, mul func(dst []float32, r0, r1, p0, p1 int)) {
			want := make([]float32, rows*n)
			mul(want, 0, rows, 0, w.Panels())
			for _, split := range [][2]int{{1, 1}, {2, 3}, {7, 2}, {16, 4}} {
				got := make([]float32, rows*n)
				for r := 0; r < rows; r += split[0] {
					for p := 0; p < w.Panels(); p += split[1] {
						mul(got[r*n:], r, min(rows, r+split[0]), p, min(w.Panels(), p+split[1]))
					}
				}
				require.Equal(t, want, got, "%s %s in runs of %d rows and %d panels", name, d, split[0], split[1])
			}
		}
		run("f32", func(dst []float32, r0, r1, p0, p1 int) { plain.MulF32(w, dst, n, x[r0*k:], r1-r0, p0, p1) })
		for _, blocks := range []bool{false, true} {
			if !d.Encoded() {
				break
			}
			a8, size := quantized(t, rows, k, blocks), a8RowBytes(k, blocks)
			run(fmt.Sprint("a8 blocks=", blocks), func(dst []float32, r0, r1, p0, p1 int) {
				plain.MulA8(w, dst, n, A8{Data: a8[r0*size:], Rows: r1 - r0, Blocks: blocks}, p0, p1)
			})
		}
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		if want := quant.FromF16(uint16(h)); h&0x7c00 != 0x7c00 && math.Float32bits(half(uint16(h))) != math.Float32bits(want) {
			t.Fatalf("half(%#x) is %g, want %g", h, half(uint16(h)), want)
		}
	}
}
