package quant

import (
	"math/rand/v2"
	"testing"

	"estream/ir"
)

func gauss(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64()) * 0.02
	}
	return w
}

func BenchmarkEncode(b *testing.B) {
	const n, k = 64, 2048
	w := gauss(n*k, 1)
	for _, d := range []ir.DType{ir.BF16, ir.F16, ir.W8, ir.W4G32, ir.W4G64, ir.W4G128, ir.W4Full32} {
		b.Run(d.String(), func(b *testing.B) {
			b.SetBytes(4 * n * k)
			for b.Loop() {
				if _, err := Encode(d, n, k, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
