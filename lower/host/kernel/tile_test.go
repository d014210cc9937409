package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

var encodings = []ir.DType{ir.W8, ir.W4G32, ir.W4G64, ir.W4G128, ir.W4Full32, ir.W4Full64, ir.W4Full128}

// a8Scale returns scale g of a row of k quantized values.
func a8Scale(row []byte, k, g int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(row[lower.ScaleOffset(k)+4*g:]))
}

// exact returns a matrix and rows of a8 whose codes are random and whose scales
// are powers of two, so that all sums are exact in whatever order. Gaps of the
// rows hold anything.
func exact(d ir.DType, n, k, rows int, blocks bool) (*quant.Matrix, []byte) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	m := &quant.Matrix{DType: d, N: n, K: k, Q: make([]int8, n*k), Scale: make([]uint16, n*groups(d, k)), Factor: 0.25}
	low, high := -7, 7
	if d == ir.W8 {
		low, high = -127, 127
	} else if d.Full() {
		low = -8
	}
	for i := range m.Q {
		m.Q[i] = int8(low + r.IntN(high-low+1))
	}
	for i := range m.Scale {
		m.Scale[i] = quant.F16(float32(int(1) << r.IntN(3)))
	}
	x := make([]byte, rows*a8RowBytes(k, blocks))
	for row := range rows {
		x := x[row*a8RowBytes(k, blocks):][:a8RowBytes(k, blocks)]
		for i := range x {
			x[i] = byte(r.IntN(256))
			if i < k && x[i] == 128 {
				x[i] = 127
			}
		}
		for b := range a8Groups(k, blocks) {
			s := float32(int(1)<<r.IntN(3)) / 4
			binary.LittleEndian.PutUint32(x[lower.ScaleOffset(k)+4*b:], math.Float32bits(s))
		}
	}
	return m, x
}

// eachTile calls f for each Set, encoding and kind of row that MulA8 takes.
func eachTile(f func(s *Set, d ir.DType, blocks bool)) {
	for _, s := range Sets() {
		for _, d := range encodings {
			f(s, d, false)
			f(s, d, true)
		}
	}
}

func TestTileExact(t *testing.T) {
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		g := d.Group(4)
		for rows := 1; rows <= 14; rows++ {
			k := g * (1 + rows%3)
			if d == ir.W8 {
				k = 1 + 31*(rows-1) // every remainder of steps
			}
			if blocks {
				k = 128 * (1 + rows%3)
			}
			n := 31 + 3*rows
			m, x := exact(d, n, k, rows, blocks)
			w, stride := packOf(t, m), n+3
			dst := filled(rows*stride, canary)
			s.MulA8(w, dst, stride, A8{Data: x, Rows: rows, Blocks: blocks}, 0, w.Panels())
			for i := range dst {
				r, c, want := i/stride, i%stride, float32(canary)
				if c < n {
					want = naiveA8(m, x, blocks, r, c)
				}
				if dst[i] != want {
					t.Fatalf("%s: %s[%d,%d] blocks=%v rows %d: row %d column %d is %g, want %g", s, d, n, k, blocks, rows, r, c, dst[i], want)
				}
			}
		}
	})
}

// TestTileRounding has scales of any value: the sums of segments in f32 differ by
// an FMA's missing roundings, two for each segment and two at the end.
func TestTileRounding(t *testing.T) {
	const n, k, rows = 40, 384, 7
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		w, x := packed(t, d, n, k), quantized(t, rows, k, blocks)
		got, want := make([]float32, rows*n), make([]float32, rows*n)
		s.MulA8(w, got, n, A8{Data: x, Rows: rows, Blocks: blocks}, 0, w.Panels())
		plain.MulA8(w, want, n, A8{Data: x, Rows: rows, Blocks: blocks}, 0, w.Panels())
		segments := newTile(w, blocks).segments
		top := float32(0)
		for _, v := range want {
			top = max(top, v, -v)
		}
		for i := range got {
			if d := got[i] - want[i]; !(max(d, -d) <= float32(2*segments+2)*0x1p-24*top) {
				t.Fatalf("%s: %s blocks=%v element %d is %g, want %g", s, w.DType, blocks, i, got[i], want[i])
			}
		}
	})
}

// TestTileSplits computes each element alone and in any run of rows and panels,
// with more rows than corr has room for where groups are small: K1.
func TestTileSplits(t *testing.T) {
	const n, k, rows = 40, 4096, 33
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		if s.tile == nil {
			return // TestMulSplits has plain Go
		}
		m, x := exact(d, n, k, rows, blocks)
		for i := range m.Scale {
			m.Scale[i] += uint16(i % 1000) // sums of segments are rounded
		}
		w := packOf(t, m)
		mul := func(dst []float32, r0, r1, p0, p1 int) {
			s.MulA8(w, dst[r0*n:], n, A8{Data: x[r0*a8RowBytes(k, blocks):], Rows: r1 - r0, Blocks: blocks}, p0, p1)
		}
		want := make([]float32, rows*n)
		mul(want, 0, rows, 0, 2)
		for _, split := range [][2]int{{1, 2}, {2, 1}, {3, 2}, {4, 1}, {5, 2}, {6, 1}, {32, 2}} {
			got := make([]float32, rows*n)
			for r := 0; r < rows; r += split[0] {
				for p := 0; p < 2; p += split[1] {
					mul(got, r, min(rows, r+split[0]), p, p+split[1])
				}
			}
			require.Equal(t, want, got, "%s: %s blocks=%v in runs of %d rows and %d panels", s, d, blocks, split[0], split[1])
		}
	})
}

// TestSumA8 has sums that were made before, as many products may share, and
// another matrix that comes next: the product is the same.
func TestSumA8(t *testing.T) {
	const n, k = 70, 384
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		w := packed(t, d, n, k)
		for _, rows := range []int{1, 3, 4, 9, 50} {
			x := A8{Data: quantized(t, rows, k, blocks), Rows: rows, Blocks: blocks}
			got, want := make([]float32, rows*n), make([]float32, rows*n)
			s.MulA8(w, want, n, x, 0, w.Panels())
			x.Sums = make([]int32, SumCount(w, blocks, rows)+1)
			x.Sums[len(x.Sums)-1] = 12345
			s.SumA8(x.Sums, w, x)
			require.EqualValues(t, 12345, x.Sums[len(x.Sums)-1], "%s: %s blocks=%v, %d rows: what lies behind the sums", s, d, blocks, rows)
			before := *w
			before.Next = packed(t, d, n, k).Panel(1)
			s.MulA8(&before, got, n, x, 0, w.Panels())
			require.Equal(t, want, got, "%s: %s blocks=%v, %d rows", s, d, blocks, rows)
		}
	})
}

// TestTileExtremes has the largest sums of products that int16 and int32 must hold.
func TestTileExtremes(t *testing.T) {
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		k := maxK
		if d != ir.W8 {
			k = 256
		}
		for _, q := range []int8{-127, 127} {
			m, x := exact(d, 1, k, 2, blocks)
			for i := range m.Q {
				m.Q[i] = q
				if d != ir.W8 {
					m.Q[i] = q / 16 // 7 or -7
				}
				if d.Full() && q < 0 {
					m.Q[i] = -8
				}
				x[i], x[a8RowBytes(k, blocks)+i] = 127, 129
			}
			for i := range m.Scale {
				m.Scale[i] = quant.F16(1)
			}
			w, dst := packOf(t, m), make([]float32, 2)
			s.MulA8(w, dst, 1, A8{Data: x, Rows: 2, Blocks: blocks}, 0, 1)
			for r, got := range dst {
				if want := naiveA8(m, x, blocks, r, 0); got != want {
					t.Errorf("%s: %s of %d blocks=%v row %d is %g, want %g", s, d, q, blocks, r, got, want)
				}
			}
		}
	})
}

// TestTileShapes gives tile functions all shapes of segments, those that no
// encoding has too, and operands that end where nothing may be read.
func TestTileShapes(t *testing.T) {
	for _, s := range Sets() {
		for zero, step := range map[int]int{8: 8, 128: 4} {
			for _, steps := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33} {
				for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, s.rowsMost()} {
					if rows > s.rowsMost() {
						continue
					}
					for _, perBlock := range []int{0, 1, 3} {
						a := randomTile(t, step, steps, rows, perBlock)
						a.zero = zero
						checkTile(t, s, a)
					}
				}
			}
		}
	}
}

// randomTile has three segments, and scales that are powers of two.
func randomTile(t *testing.T, step, steps, rows, perBlock int) tile {
	const segments = 3
	r := rand.New(rand.NewPCG(uint64(steps), uint64(rows)))
	a := tile{segments: segments, steps: steps, segment: steps * step, perBlock: perBlock, factor: 0.5, rows: rows}
	a.next = scaleBytes * (steps % 2)
	a.codes = pages(t, segments*steps*blockBytes)
	for i := range a.codes {
		a.codes[i] = byte(1 + r.IntN(255))
	}
	a.scales = pages(t, (segments-1)*a.next+scaleBytes)
	for i := 0; i < len(a.scales); i += 2 {
		binary.LittleEndian.PutUint16(a.scales[i:], quant.F16(float32(int(1)<<r.IntN(3))))
	}
	blocks := 1
	if perBlock != 0 {
		blocks = (segments + perBlock - 1) / perBlock
	}
	a.scaleAt = segments*a.segment + 4*(steps%3)
	row := a.scaleAt + 4*blocks
	a.stride = row + 12
	a.x = pages(t, (rows-1)*a.stride+row)
	for i := range a.x {
		a.x[i] = byte(r.IntN(255) - 127)
	}
	for row := range rows {
		for b := range blocks {
			binary.LittleEndian.PutUint32(a.x[row*a.stride+a.scaleAt+4*b:], math.Float32bits(float32(int(1)<<r.IntN(3))/2))
		}
	}
	a.corrStride = 4 * ((rows + sumRows - 1) / sumRows * sumRows)
	a.corr = make([]int32, segments*a.corrStride/4)
	a.scratch = make([]int32, 128)
	a.dstStride = 4 * (PanelColumns + 1 + rows)
	return a
}

func checkTile(t *testing.T, s *Set, a tile) {
	name := fmt.Sprintf("%s: zero %d, %d steps of %d bytes, %d rows, %d segments a block", s, a.zero, a.steps, a.segment/a.steps, a.rows, a.perBlock)
	run := func(s *Set) ([]int32, []float32) {
		t := a
		t.corr = make([]int32, len(a.corr))
		t.dst = filled((a.rows+1)*a.dstStride/4, canary)
		s.sumRun(t)
		s.mul(&t)
		return t.corr, t.dst
	}
	wantCorr, want := run(plain)
	gotCorr, got := run(s)
	for i := range wantCorr {
		g, row := i/(a.corrStride/4), i%(a.corrStride/4)
		if a.zero == 8 && row < a.rows && gotCorr[i] != wantCorr[i] {
			t.Fatalf("%s: corr of row %d, segment %d is %d, want %d", name, row, g, gotCorr[i], wantCorr[i])
		}
	}
	require.Equal(t, want, got, name)
}

func TestTileNoAllocation(t *testing.T) {
	const n, k, rows = 40, 384, 9
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		w, x, dst := packed(t, d, n, k), quantized(t, rows, k, blocks), make([]float32, rows*n)
		if got := testing.AllocsPerRun(5, func() { s.MulA8(w, dst, n, A8{Data: x, Rows: rows, Blocks: blocks}, 0, w.Panels()) }); got != 0 {
			t.Errorf("%s: MulA8 of %s blocks=%v allocates %v times a call, want 0", s, d, blocks, got)
		}
	})
}

func TestPeakInt8(t *testing.T) {
	for _, s := range Sets() {
		if got := s.peakInt8(); (got > 0) != (s.tile != nil) {
			t.Errorf("%s: the peak is %g GOPS", s, got)
		}
	}
}
