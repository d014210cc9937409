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
// column d is the sum over j, ascending, in float64, of taps[d,j] * row i-Keep+j,
// where rows before the step come from win. taps is [D,Keep+1]; sequence b is
// rows seq[b]..seq[b+1]-1 of x [T,D]. It writes columns from..to-1.
func (s *Set) Conv(dst, x, taps []float32, win *Window, seq []int32, from, to int) {
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
