package kernel

import (
	"fmt"
	"testing"
	"time"

	"estream/ir"
)

// BenchmarkTile has weights come from memory: it goes through 64 MiB of them.
// GOPS is of the best pass, so that other work on the machine matters less, and
// share is of the instructions' peak.
func BenchmarkTile(b *testing.B) {
	const n, k, most, total = 1024, 2048, 256, 64 << 20
	for _, s := range Sets() {
		peak := s.peakInt8()
		if peak == 0 {
			continue
		}
		for _, d := range []ir.DType{ir.W4G128, ir.W4G64, ir.W4G32, ir.W8} {
			one := packed(b, d, n, k)
			weights := pages(b, total/len(one.Data)*len(one.Data))
			for at := 0; at < len(weights); at += len(one.Data) {
				copy(weights[at:], one.Data)
			}
			for _, rows := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256} {
				x, dst, w := quantized(b, rows, k, false), make([]float32, most*n), *one
				b.Run(fmt.Sprintf("%s/%s/%d", s, d, rows), func(b *testing.B) {
					best := time.Hour
					at := 0
					for b.Loop() {
						start := time.Now()
						for range max(1, 64/rows) {
							w.Data = weights[at:][:len(one.Data)]
							at = (at + len(one.Data)) % len(weights)
							s.MulA8(&w, dst, n, A8{Data: x, Rows: rows}, 0, w.Panels())
						}
						best = min(best, time.Since(start))
					}
					ops := 2 * float64(rows*max(1, 64/rows)) * n * k
					b.ReportMetric(ops/float64(best.Nanoseconds()), "GOPS")
					b.ReportMetric(100*ops/float64(best.Nanoseconds())/peak, "share")
				})
			}
		}
	}
}
