package kernel

import (
	"fmt"
	"testing"

	"estream/ir"
	"estream/lower"
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
					plain.MulA8(w, dst, n, x, false, rows, 0, w.Panels())
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
				plain.Attend(&a, dst, q, Sequence{Pos: past}, 0, rows, 0, a.Heads)
			}
			gops(b, rows*(past+rows/2)*a.Heads*(a.D+a.Dv))
		})
	}
}

func BenchmarkRows(b *testing.B) {
	const rows, k = 64, 2048
	x, y, dst := normal(rows*k, 1), normal(rows*k, 2), make([]float32, rows*k)
	a8 := make([]byte, 2*rows*a8RowBytes(k, true))
	pos := make([]int32, rows)
	ids := make([]int32, rows*k/64*8)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"rmsnorm", func() { plain.RMSNorm(dst, x, y[:k], 1e-5) }},
		{"softmax", func() { plain.Softmax(dst, x, 64) }},
		{"silumul", func() { plain.SiLUMul(dst, x, y) }},
		{"add", func() { plain.Apply(Add, dst, x, y, k, Same) }},
		{"quantize", func() { _ = plain.QuantizeA8(a8, x, rows, k, false) }},
		{"quantize blocks", func() { _ = plain.QuantizeA8(a8, x, rows, k, true) }},
		{"rope", func() { plain.Rotate(Rotary{Heads: 16, D: 128, Theta: 1e4}, dst, x, pos) }},
		{"topk 8 of 64", func() { _ = plain.TopK(ids, x, 64, 8) }},
		{"encode bf16", func() { lower.Encode(a8, x, ir.BF16) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(4 * rows * k)
			for b.Loop() {
				c.run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*k), "ns/value")
		})
	}
}
