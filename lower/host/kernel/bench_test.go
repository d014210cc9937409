package kernel

import (
	"fmt"
	"testing"

	"estream/ir"
)

// gops reports two operations for each of n multiply-adds an iteration.
func gops(b *testing.B, n int) {
	b.ReportMetric(2*float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GOPS")
}

func BenchmarkMulA8(b *testing.B) {
	const n, k = 256, 2048
	for _, d := range []ir.DType{ir.W8, ir.W4G32, ir.W4G128} {
		w := packed(b, d, n, k)
		for _, rows := range []int{1, 8, 64} {
			x := quantized(b, rows, k, false)
			dst := make([]float32, rows*n)
			b.Run(fmt.Sprintf("%s/%d", d, rows), func(b *testing.B) {
				b.SetBytes(int64(len(w.Data)))
				for b.Loop() {
					plain.MulA8(w, dst, n, A8{Data: x, Rows: rows}, 0, w.Panels())
				}
				gops(b, rows*n*k)
			})
		}
	}
}

func BenchmarkMulF32(b *testing.B) {
	const n, k = 256, 2048
	for _, d := range []ir.DType{ir.F32, ir.BF16, ir.F16, ir.W8, ir.W4G32} {
		w := packed(b, d, n, k)
		for _, rows := range []int{1, 64} {
			x, dst := normal(rows*k, 2), make([]float32, rows*n)
			b.Run(fmt.Sprintf("%s/%d", d, rows), func(b *testing.B) {
				b.SetBytes(int64(len(w.Data)))
				for b.Loop() {
					plain.MulF32(w, dst, n, x, rows, 0, w.Panels())
				}
				gops(b, rows*n*k)
			})
		}
	}
}

func BenchmarkAttention(b *testing.B) {
	for _, d := range []ir.DType{ir.F32, ir.BF16} {
		a := Attention{Heads: 4, Groups: 2, D: 128, Dv: 128, Scale: 0.1, DType: d}
		const past, rows = 448, 64
		a.Keys, a.Values = encoded((past+rows)*a.Groups*a.D, d, 1), encoded((past+rows)*a.Groups*a.Dv, d, 2)
		q := normal(rows*a.Heads*a.D, 3)
		dst := make([]float32, rows*a.Heads*a.Dv)
		b.Run(d.String(), func(b *testing.B) {
			for b.Loop() {
				plain.Attend(&a, dst, q, Sequence{Pos: past}, 0, rows, 0, a.Heads, nil)
			}
			gops(b, rows*(past+rows/2)*a.Heads*(a.D+a.Dv))
		})
	}
}
