package kernel

import (
	"fmt"
	"testing"
	"time"

	"estream/ir"
	"estream/lower"
)

// gflops reports the best of some runs of f, which does two operations for each
// of n multiply-adds, and its share of a peak: the machine may be shared.
func gflops(b *testing.B, n int, peak float64, f func()) {
	best := 0.0
	for b.Loop() {
		start := time.Now()
		f()
		best = max(best, 2*float64(n)/float64(time.Since(start).Nanoseconds()))
	}
	b.ReportMetric(best, "GFLOPS")
	b.ReportMetric(100*best/peak, "%peak")
}

// BenchmarkAttend counts causal multiply-adds only.
func BenchmarkAttend(b *testing.B) {
	for _, set := range fmaSets() {
		for _, d := range []ir.DType{ir.F32, ir.BF16} {
			for _, s := range []struct{ past, rows, heads, groups, d, dv int }{
				{0, 2048, 1, 1, 128, 128}, {0, 2048, 16, 16, 128, 128}, {0, 512, 16, 16, 128, 128}, {0, 512, 4, 4, 192, 128},
				{0, 16, 16, 16, 128, 128}, {2047, 1, 16, 16, 128, 128}, {2047, 1, 16, 2, 128, 128},
			} {
				a := Attention{Heads: s.heads, Groups: s.groups, D: s.d, Dv: s.dv, Scale: 0.1, DType: d}
				n, share := s.past+s.rows, s.heads/s.groups
				a.Keys, a.Values = pages(b, n*a.Groups*a.D*d.Bits()/8), pages(b, n*a.Groups*a.Dv*d.Bits()/8)
				copy(a.Keys, encoded(n*a.Groups*a.D, d, 1))
				copy(a.Values, encoded(n*a.Groups*a.Dv, d, 2))
				q, dst := edged(b, normal(s.rows*a.Heads*a.D, 3)), lower.F32(pages(b, 4*s.rows*a.Heads*a.Dv))
				words, rows := set.AttendSpace(&a)
				space, peak := lower.F32(pages(b, 4*words)), set.peakF32()
				if d == ir.BF16 && set.fma.pairs {
					peak = set.peakBF16()
				}
				b.Run(fmt.Sprintf("%s/%s/%d+%d/%d:%d/%d:%d", set, d, s.past, s.rows, s.heads, s.groups, s.d, s.dv), func(b *testing.B) {
					gflops(b, (s.rows*s.past+s.rows*(s.rows+1)/2)*a.Heads*(a.D+a.Dv), peak, func() {
						for r := 0; r < s.rows; r += rows {
							for h := 0; h < a.Heads; h += share {
								set.Attend(&a, dst, q, Sequence{Pos: s.past}, r, min(s.rows, r+rows), h, h+share, space)
							}
						}
					})
				})
			}
		}
	}
}

// BenchmarkMulPlain multiplies panel by panel, as threads do.
func BenchmarkMulPlain(b *testing.B) {
	const n, k = 1024, 2048
	for _, set := range fmaSets() {
		for _, d := range []ir.DType{ir.F32, ir.BF16, ir.F16} {
			w := &Matrix{DType: d, N: n, K: k, Data: pages(b, n*k*d.Bits()/8)}
			copy(w.Data, encoded(n*k, d, 1))
			for _, rows := range []int{1, 4, 16, 256} {
				x, dst := edged(b, normal(rows*k, 2)), lower.F32(pages(b, 4*rows*n))
				b.Run(fmt.Sprintf("%s/%s/%d", set, d, rows), func(b *testing.B) {
					gflops(b, rows*n*k, set.peakF32(), func() {
						for p := range w.Panels() {
							set.MulF32(w, dst, n, x, rows, p, p+1)
						}
					})
				})
			}
		}
	}
}
