package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

// TestConv runs sequences in chunks of any length and compares with the whole.
func TestConv(t *testing.T) {
	const d = 5
	for _, keep := range []int{1, 2, 3} {
		for _, dtype := range []ir.DType{ir.F32, ir.BF16} {
			taps, lens := normal(d*(keep+1), 1), []int{7, 1, 4}
			var seqs [][]float32
			for i, n := range lens {
				x := normal(n*d, uint64(i+2))
				b := make([]byte, 4*len(x))
				lower.Encode(b, x, dtype) // values that a window keeps without loss
				lower.Decode(x, b, dtype)
				seqs = append(seqs, x)
			}
			got := make([][]float32, len(lens))
			win := &Window{DType: dtype, Keep: keep, D: d, Data: make([]byte, len(lens)*keep*d*dtype.Bits()/8)}
			for from, chunk := 0, 1; from < 7; from, chunk = from+chunk, chunk%3+1 {
				seq, x := []int32{0}, []float32(nil)
				for _, s := range seqs {
					x = append(x, s[min(len(s), from*d):min(len(s), (from+chunk)*d)]...)
					seq = append(seq, int32(len(x)/d))
				}
				dst := filled(len(x), canary)
				plain.Conv(dst, x, taps, win, seq, 0, 2)
				plain.Conv(dst, x, taps, win, seq, 2, d)
				Shift(win, seq, x)
				for b := range seqs {
					got[b] = append(got[b], dst[int(seq[b])*d:int(seq[b+1])*d]...)
				}
			}
			for b, x := range seqs {
				for i, v := range got[b] {
					sum := 0.0
					for j := range keep + 1 {
						if row := i/d - keep + j; row >= 0 {
							sum += float64(taps[i%d*(keep+1)+j]) * float64(x[row*d+i%d])
						}
					}
					require.Equal(t, float32(sum), v, "%s keep %d sequence %d row %d column %d", dtype, keep, b, i/d, i%d)
				}
			}
		}
	}
}
