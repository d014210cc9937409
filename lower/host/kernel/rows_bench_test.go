package kernel

import (
	"testing"

	"estream/ir"
)

// BenchmarkRows runs what goes element by element and row by row on every Set.
func BenchmarkRows(b *testing.B) {
	const rows, k = 64, 2048
	x, y, dst, w := normal(rows*k, 1), normal(rows*k, 2), make([]float32, rows*k), normal(rows*k/8, 3)
	a8 := make([]byte, 2*rows*a8RowBytes(k, true))
	pos, seq := make([]int32, rows), []int32{0, rows}
	for i := range pos {
		pos[i] = int32(100 + i)
	}
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32((i * 5) % rows)
	}
	ids := make([]int32, rows*k/64*8)
	win := &Window{DType: ir.BF16, Keep: 2, D: k, Data: make([]byte, 2*2*k)}
	for _, s := range Sets() {
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"rmsnorm", func() { s.RMSNorm(dst, x, y[:k], 1e-5) }},
			{"rmsnorm 128", func() { s.RMSNorm(dst, x, y[:128], 1e-5) }},
			{"softmax 8", func() { s.Softmax(dst, x, 8) }},
			{"softmax 64", func() { s.Softmax(dst, x, 64) }},
			{"sum 8", func() { s.Sum(w, x, 8) }},
			{"silumul", func() { s.SiLUMul(dst, x, y) }},
			{"silumul by 32", func() { s.SiLUMulColumns(dst, 2048, x, y, 2048, 32, rows*k/2048) }},
			{"silumul of 32", func() { s.SiLUMul(dst[:32], x[:32], y) }},
			{"sigmoid", func() { s.Sigmoid(dst, x) }},
			{"add", func() { s.Apply(Add, dst, x, y, k, Same) }},
			{"div by column 8", func() { s.Apply(Div, dst, x, w, 8, Column) }},
			{"quantize", func() { _ = s.QuantizeA8(a8, x, rows, k, false) }},
			{"quantize blocks", func() { _ = s.QuantizeA8(a8, x, rows, k, true) }},
			{"rope 16", func() { s.Rotate(Rotary{Heads: 16, D: 128, Theta: 1e4}, dst, x, pos) }},
			{"rope 4", func() { s.Rotate(Rotary{Heads: 4, D: 128, Theta: 1e4}, dst, x[:rows*512], pos) }},
			{"rope pairs 16", func() { s.Rotate(Rotary{Heads: 16, D: 128, Theta: 1e4, Interleaved: true}, dst, x, pos) }},
			{"conv", func() { s.Conv(dst, x, y[:3*k], win, seq, 0, k) }},
			{"scatter", func() { _ = s.ScatterAdd(dst, k, x, k, k, order, w) }},
			{"topk 8 of 64", func() { _ = s.TopK(ids, x, 64, 8) }},
			{"encode bf16", func() { s.Encode(a8, x, ir.BF16) }},
			{"decode bf16", func() { s.Decode(dst, a8, ir.BF16) }},
			{"encode f16", func() { s.Encode(a8, x, ir.F16) }},
		} {
			b.Run(s.String()+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					c.run()
				}
				n := rows * k
				switch c.name {
				case "rope 4":
					n = rows * 512
				case "silumul by 32":
					n = rows * 32
				case "silumul of 32":
					n = 32
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
			})
		}
	}
}
