package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"estream/ir"
	"estream/lower"
)

// best returns the shortest thread time of some runs of f, in nanoseconds: others
// share the machine.
func best(runs int, f func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := math.Inf(1)
	for range runs {
		start := threadTime()
		f()
		least = min(least, float64(threadTime()-start))
	}
	return least
}

func threadTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano()
}

func BenchmarkFlash(b *testing.B) {
	for _, set := range Sets() {
		if set.fma == nil {
			continue
		}
		for _, d := range []ir.DType{ir.F32, ir.BF16} {
			for _, s := range []struct{ rows, past, heads, groups, d, dv int }{
				{2048, 0, 1, 1, 128, 128}, {2048, 0, 16, 16, 128, 128}, {2048, 0, 4, 1, 128, 128}, {512, 0, 16, 16, 128, 128}, {128, 0, 16, 16, 128, 128}, {16, 0, 16, 16, 128, 128},
				{1, 2047, 16, 16, 128, 128}, {1, 2047, 16, 2, 128, 128}, {512, 0, 4, 4, 64, 64}, {512, 0, 4, 4, 192, 128}, {256, 0, 16, 1, 576, 512},
			} {
				a := Attention{Heads: s.heads, Groups: s.groups, D: s.d, Dv: s.dv, Scale: 0.1, DType: d}
				n := s.rows + s.past
				a.Keys, a.Values = pages(b, n*a.Groups*a.D*d.Bits()/8), pages(b, n*a.Groups*a.Dv*d.Bits()/8)
				copy(a.Keys, encoded(n*a.Groups*a.D, d, 1))
				copy(a.Values, encoded(n*a.Groups*a.Dv, d, 2))
				q, dst := lower.F32(pages(b, 4*s.rows*a.Heads*a.D)), lower.F32(pages(b, 4*s.rows*a.Heads*a.Dv))
				copy(q, normal(len(q), 3))
				words, rows := set.AttendSpace(&a)
				space := lower.F32(pages(b, 4*words))
				b.Run(fmt.Sprintf("%s/%s/%d+%d/%d:%d/%d,%d", set, d, s.past, s.rows, s.heads, s.groups, s.d, s.dv), func(b *testing.B) {
					share := a.Heads / a.Groups
					ns := best(10, func() {
						for h := 0; h < a.Heads; h += share {
							for r := 0; r < s.rows; r += rows {
								set.Attend(&a, dst, q, Sequence{Pos: s.past}, r, min(s.rows, r+rows), h, h+share, space)
							}
						}
					})
					peak := set.peakF32()
					if d == ir.BF16 && set.fma.pairs {
						peak = set.peakBF16()
					}
					work := 2 * float64(s.rows*s.past+s.rows*(s.rows+1)/2) * float64(a.Heads*(a.D+a.Dv))
					for b.Loop() {
					}
					b.ReportMetric(work/ns, "GFLOPS")
					b.ReportMetric(100*work/ns/peak, "%peak")
					b.ReportMetric(ns/1e3, "us")
				})
			}
		}
	}
}

func BenchmarkMulPlain(b *testing.B) {
	const k = 2048
	for _, set := range Sets() {
		if set.fma == nil {
			continue
		}
		for _, d := range []ir.DType{ir.F32, ir.BF16, ir.F16} {
			for _, n := range []int{64, 1024} {
				w := &Matrix{DType: d, N: n, K: k, Data: pages(b, n*k*d.Bits()/8), Factor: 1}
				copy(w.Data, encoded(n*k, d, 1))
				for _, rows := range []int{1, 4, 8, 16, 64, 256} {
					x, dst := lower.F32(pages(b, 4*rows*k)), lower.F32(pages(b, 4*rows*n))
					copy(x, normal(rows*k, 2))
					b.Run(fmt.Sprintf("%s/%s/%d/%d", set, d, n, rows), func(b *testing.B) {
						ns := best(20, func() {
							for p := range w.Panels() {
								set.MulF32(w, dst, n, x, rows, p, p+1)
							}
						})
						for b.Loop() {
						}
						work := 2 * float64(rows*n*k)
						b.ReportMetric(work/ns, "GFLOPS")
						b.ReportMetric(100*work/ns/set.peakF32(), "%peak")
						b.ReportMetric(ns/1e3, "us")
					})
				}
			}
		}
	}
}
