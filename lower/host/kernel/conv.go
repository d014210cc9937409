package kernel

import (
	"estream/ir"
	"estream/lower"
)

// A Window is the last Keep rows of D values of each sequence, [B,Keep,D].
type Window struct {
	DType   ir.DType // f32, f16 or bf16
	Keep, D int
	Data    []byte
}

// row returns the bytes of row i of sequence b.
func (w *Window) row(b, i int) []byte {
	size := w.D * w.DType.Bits() / 8
	at := (b*w.Keep + i) * size
	return w.Data[at : at+size]
}

// Conv is the short depthwise convolution: dst [T,D] at row i of a sequence and
// column d is the sum over j, ascending, in plain Go in float64, of taps[d,j] * row i-Keep+j,
// where rows before the step come from win. taps is [D,Keep+1]; sequence b is
// rows seq[b]..seq[b+1]-1 of x [T,D]. It writes columns from..to-1.
func (s *Set) Conv(dst, x, taps []float32, win *Window, seq []int32, from, to int) {
	if s.vec != nil && win.Keep < convMost { // Keep+1 taps
		s.vec.conv(dst, x, taps, win, seq, from, to)
		return
	}
	for b := range len(seq) - 1 {
		first, n := int(seq[b]), int(seq[b+1]-seq[b])
		for i := range n {
			for c := from; c < to; c++ {
				sum, v := 0.0, [1]float32{}
				for j, tap := range taps[c*(win.Keep+1) : (c+1)*(win.Keep+1)] {
					if at := i - win.Keep + j; at >= 0 {
						v[0] = x[(first+at)*win.D+c]
					} else {
						lower.Decode(v[:], win.row(b, i+j)[c*win.DType.Bits()/8:], win.DType)
					}
					sum += float64(tap) * float64(v[0])
				}
				dst[(first+i)*win.D+c] = float32(sum)
			}
		}
	}
}

const (
	convMost    = 8   // taps that a vecSet takes
	convColumns = 256 // that it takes at a time
)

// convTaps are taps by their place, then the column.
type convTaps [convMost][convColumns]float32

// conv is Conv, product and sum of each tap rounded to f32: so a row from the
// window counts as one of the step.
func (v *vecSet) conv(dst, x, taps []float32, win *Window, seq []int32, from, to int) {
	var t convTaps
	for ; from < to; from += convColumns {
		end := min(from+convColumns, to)
		for j := range win.Keep + 1 {
			for c := from; c < end; c++ {
				t[j][c-from] = taps[c*(win.Keep+1)+j]
			}
		}
		for b := range len(seq) - 1 {
			first, last := int(seq[b])*win.D, int(seq[b+1])*win.D
			v.convSequence(dst[first:last], x[first:last], &t, win, b, from, end)
		}
	}
}

// convSequence computes columns from..to-1 of sequence b.
func (v *vecSet) convSequence(dst, x []float32, t *convTaps, win *Window, b, from, to int) {
	d, rows := win.D, len(x)/win.D
	for i := range rows {
		clear(dst[i*d+from : i*d+to])
	}
	for i := range min(win.Keep, rows) {
		var old [convColumns]float32
		row := dst[i*d+from : i*d+to]
		for j := range win.Keep - i {
			lower.Decode(old[:len(row)], win.row(b, i+j)[from*win.DType.Bits()/8:], win.DType)
			for c := range row {
				row[c] += float32(old[c] * t[j][c])
			}
		}
		v.convRows(row, x[from:], t[win.Keep-i:win.Keep+1], d, len(row), 1)
	}
	if rows > win.Keep {
		v.convRows(dst[win.Keep*d+from:], x[from:], t[:win.Keep+1], d, to-from, rows-win.Keep)
	}
}

// convRows adds the taps of rows of n columns, d apart, to dst: the first tap of a
// row of dst is that of the same row of x.
func (v *vecSet) convRows(dst, x []float32, taps [][convColumns]float32, d, n, rows int) {
	v.rowwise(vecConv, &vecArgs{
		dst: dst, x: x, y: taps[0][:], n: n, rows: rows, dstStride: 4 * d, xStride: 4 * d,
		heads: len(taps), headStride: 4 * d, headsBack: -4 * d * len(taps),
		tapStride: 4 * convColumns, tapsBack: -4 * convColumns * len(taps),
	})
}

// Shift makes win the last Keep rows of each sequence after x, rounded to its
// type. Conv comes before it.
func Shift(win *Window, seq []int32, x []float32) {
	for b := range len(seq) - 1 {
		first, n := int(seq[b]), int(seq[b+1]-seq[b])
		for i := range win.Keep {
			if at := n + i; at < win.Keep {
				copy(win.row(b, i), win.row(b, at))
			} else {
				row := first + at - win.Keep
				lower.Encode(win.row(b, i), x[row*win.D:(row+1)*win.D], win.DType)
			}
		}
	}
}
