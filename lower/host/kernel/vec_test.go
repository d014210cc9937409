package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

// vecSets are the Sets with row kernels.
func vecSets() []*Set { return slices.DeleteFunc(Sets(), func(s *Set) bool { return s.vec == nil }) }

// sizes are every rest of a vector after none, one or more whole ones, and more than a call takes.
func sizes() []int {
	n := []int{vecMost, vecMost + 5, 2*vecMost + 17}
	for i := range 70 {
		n = append(n, i+1)
	}
	return n
}

// odd are numbers that arithmetic treats in a way of their own.
var odd = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, inf, -inf, nan, -nan, 1e-45, -1e-45, 1e-39, -1e-39, 0x1p-126, math.MaxFloat32, -math.MaxFloat32,
	88.8, -88.8, 87.3, -87.3, 89, -89, 103.9, -103.9, 104.1, -104.1, 1e30, -1e30, 16.7, -16.7, 0.5, -0.5, 1e-8, 65504, 65520, 5.9e-8, 2.9e-8,
}

// values are n normal numbers with odd ones among them, that end where a page does.
func values(t testing.TB, n int, seed uint64, odd ...float32) []float32 {
	x := lower.F32(pages(t, 4*n))
	copy(x, normal(n, seed))
	for i, v := range odd {
		if n > 0 {
			x[(i*7+int(seed))%n] = v
		}
	}
	return x
}

// A near is how far a Set may be from plain Go: relative steps of 2^-23 or less
// than an absolute number. Without, bits are the same, but NaN is NaN.
type nearness struct{ steps, less float64 }

func (n nearness) require(t *testing.T, want, got []float32, format string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want), format)
	for i, w := range want {
		g := got[i]
		within := math.Float32bits(w) == math.Float32bits(g) || w != w && g != g
		if d := math.Abs(float64(w) - float64(g)); !within && !(n != nearness{} && d <= n.steps*0x1p-23*math.Abs(float64(w))+n.less) {
			t.Fatalf("%s: value %d of %d is %g, want %g within %g steps of 2^-23 or %g", fmt.Sprintf(format, args...), i, len(want), g, w, n.steps, n.less)
		}
	}
}

var same = nearness{}

// elementwise are the kernels of elements. Below the normal numbers, e^x has fewer bits.
var elementwise = []struct {
	name string
	near nearness
	run  func(s *Set, dst, x, y []float32)
}{
	{"add", same, func(s *Set, dst, x, y []float32) { s.Apply(Add, dst, x, y, 1, Same) }},
	{"sub", same, func(s *Set, dst, x, y []float32) { s.Apply(Sub, dst, x, y, 1, Same) }},
	{"mul", same, func(s *Set, dst, x, y []float32) { s.Apply(Mul, dst, x, y, 1, Same) }},
	{"div", same, func(s *Set, dst, x, y []float32) { s.Apply(Div, dst, x, y, 1, Same) }},
	{"affine", same, func(s *Set, dst, x, y []float32) { s.Affine(dst, x, 1.3, 0.7) }},
	{"clamp", same, func(s *Set, dst, x, y []float32) { s.Clamp(dst, x, 0.5) }},
	{"silu", nearness{2.5, 1e-42}, func(s *Set, dst, x, y []float32) { s.SiLU(dst, x) }},
	{"silumul", nearness{3, 1e-42}, func(s *Set, dst, x, y []float32) { s.SiLUMul(dst, x, y) }},
	{"sigmoid", nearness{2, 3e-45}, func(s *Set, dst, x, y []float32) { s.Sigmoid(dst, x) }},
}

func TestElementwise(t *testing.T) {
	for _, n := range sizes() {
		x, y, want := values(t, n, 1, odd...), values(t, n, 2), make([]float32, n)
		for _, c := range elementwise {
			c.run(plain, want, x, y)
			for _, s := range vecSets() {
				space := values(t, n+16, 3)
				before, dst := slices.Clone(space[:16]), space[16:]
				c.run(s, dst, x, y)
				c.near.require(t, want, dst, "%s %s", s, c.name)
				require.Equal(t, before, space[:16], "%s %s of %d writes before dst", s, c.name, n)
				inX, inY := slices.Clone(x), slices.Clone(y)
				c.run(s, inX, inX, y)
				c.run(s, inY, x, inY)
				same.require(t, dst, inX, "%s %s in place", s, c.name)
				same.require(t, dst, inY, "%s %s in place of y", s, c.name)
			}
		}
	}
}

// TestElementwiseCuts says that a place of an element makes no difference.
func TestElementwiseCuts(t *testing.T) {
	const n = 70
	x, y := normal(n, 1), normal(n, 2)
	for i := range x {
		x[i] *= 40 // down to where e^x has fewer bits
	}
	for _, s := range vecSets() {
		for _, c := range elementwise {
			want, got := make([]float32, n), make([]float32, n)
			c.run(s, want, x, y)
			for from := range n {
				to := min(n, from+1+from%19)
				c.run(s, got[from:to], x[from:to], y[from:to])
				requireBits(t, want[from:to], got[from:to], "%s %s of %d to %d", s, c.name, from, to)
			}
		}
	}
}

// rowwise are the kernels of rows; softmax rounds differences to the largest, of up
// to 8 here.
var rowwise = []struct {
	name string
	near nearness
	run  func(s *Set, dst, x, y []float32, n int)
}{
	{"div by a vector", same, func(s *Set, dst, x, y []float32, n int) { s.Apply(Div, dst, x, y[:n], n, Vector) }},
	{"sub a column", same, func(s *Set, dst, x, y []float32, n int) { s.Apply(Sub, dst, x, y[:len(x)/n], n, Column) }},
	{"scale", same, func(s *Set, dst, x, y []float32, n int) { s.ScaleRows(dst, x, y[:len(x)/n]) }},
	{"silumul", nearness{3, 1e-42}, func(s *Set, dst, x, y []float32, n int) { s.SiLUMulColumns(dst, n, x, y, n, n, len(x)/n) }},
	{"softmax", nearness{6, 3e-45}, func(s *Set, dst, x, y []float32, n int) { s.Softmax(dst, x, n) }},
	{"rmsnorm", nearness{2, 3e-45}, func(s *Set, dst, x, y []float32, n int) { s.RMSNorm(dst, x, y[:n], 1e-5) }},
}

func TestRowwise(t *testing.T) {
	for _, n := range sizes() {
		rows := 3
		if n == 1 || n == 8 {
			rows = 2*vecMost/n + 3
		}
		x, y, want := values(t, rows*n, 1), values(t, rows*n, 2), make([]float32, rows*n)
		for _, c := range rowwise {
			c.run(plain, want, x, y, n)
			for _, s := range vecSets() {
				dst := values(t, rows*n, 3)
				c.run(s, dst, x, y, n)
				c.near.require(t, want, dst, "%s %s of rows of %d", s, c.name, n)
				in := slices.Clone(x)
				c.run(s, in, in, y, n)
				same.require(t, dst, in, "%s %s in place", s, c.name)
				last := (rows - 1) * n
				one := values(t, n, 4)
				c.run(s, one, x[last:], append(slices.Clone(y[:n:n]), y...), n)
				if c.name == "softmax" || c.name == "rmsnorm" {
					requireBits(t, dst[last:], one, "%s %s of one row of %d", s, c.name, n)
				}
			}
		}
	}
}

func TestSiLUMulColumns(t *testing.T) {
	const n, stride, rows = 33, 40, 4
	x, y := normal(rows*stride, 1), normal(rows*stride, 2)
	for _, s := range Sets() {
		want, got := filled(rows*stride, canary), filled(rows*stride, canary)
		for at := 0; at < rows*stride; at += stride {
			s.SiLUMul(want[at:at+n], x[at:at+n], y[at:at+n])
		}
		s.SiLUMulColumns(got, stride, x, y, stride, n, rows)
		requireBits(t, want, got, "%s", s)
	}
}

func TestSumSets(t *testing.T) {
	for _, n := range sizes() {
		rows := min(3+2*vecMost/n, 5000)
		x, want := values(t, rows*n, 1), make([]float32, rows)
		plain.Sum(want, x, n)
		for _, s := range vecSets() {
			got := values(t, rows, 2)
			s.Sum(got, x, n)
			nearness{1, 1e-12 * float64(n)}.require(t, want, got, "%s sums of %d", s, n)
		}
	}
}

// TestSoftmaxOdd has what overflows, underflows and is not finite. A difference to
// the largest of up to 104 is rounded by 2^-18 at most, so that is the relative error.
func TestSoftmaxOdd(t *testing.T) {
	for n := 1; n < 40; n++ {
		var x []float32
		for _, v := range odd {
			row := normal(n, 1)
			row[n/2] = v
			x = append(x, row...)
		}
		x = append(append(x, filled(n, -inf)...), filled(n, 3e38)...)
		x[len(x)-1] = -3e38
		want := make([]float32, len(x))
		plain.Softmax(want, x, n)
		for _, s := range vecSets() {
			got := make([]float32, len(x))
			s.Softmax(got, x, n)
			nearness{40, 3e-45}.require(t, want, got, "%s softmax of rows of %d", s, n)
		}
	}
}

// TestLogistic goes densely through where e^x has bits.
func TestLogistic(t *testing.T) {
	var x []float32
	for v := float32(-110); v < 110; v += 0.0037 {
		x = append(x, v)
	}
	want, got := make([]float32, len(x)), make([]float32, len(x))
	for _, c := range elementwise {
		if c.near == same {
			continue
		}
		y := normal(len(x), 1)
		c.run(plain, want, x, y)
		for _, s := range vecSets() {
			c.run(s, got, x, y)
			c.near.require(t, want, got, "%s %s", s, c.name)
		}
	}
}

func TestRMSNormRange(t *testing.T) {
	for _, scale := range []float32{1e-30, 1e-10, 1e10, 1e30} {
		x, gain, want := normal(300, 1), normal(100, 2), make([]float32, 300)
		for i := range x {
			x[i] *= scale
		}
		plain.RMSNorm(want, x, gain, 0)
		for _, s := range vecSets() {
			got := make([]float32, 300)
			s.RMSNorm(got, x, gain, 0)
			nearness{steps: 2}.require(t, want, got, "%s rmsnorm of numbers near %g", s, scale)
		}
	}
}

func TestRowsDoNotAllocate(t *testing.T) {
	const rows, k = 3, 256
	x, y, dst, a8 := normal(rows*k, 1), normal(rows*k, 2), make([]float32, rows*k), make([]byte, 4*rows*k)
	pos, seq, win := []int32{1, 2, 0}, []int32{0, 1, rows}, &Window{DType: ir.BF16, Keep: 2, D: k, Data: make([]byte, 2*2*k*2)}
	for _, s := range Sets() {
		for name, f := range map[string]func(){
			"RMSNorm":    func() { s.RMSNorm(dst, x, y[:k], 1e-5) },
			"Softmax":    func() { s.Softmax(dst, x, k) },
			"Sum":        func() { s.Sum(dst[:rows], x, k) },
			"SiLUMul":    func() { s.SiLUMul(dst, x, y) },
			"Affine":     func() { s.Affine(dst, x, 1, 2) },
			"Apply":      func() { s.Apply(Add, dst, x, y[:k], k, Vector) },
			"QuantizeA8": func() { _ = s.QuantizeA8(a8, x, rows, k, true) },
			"Rotate":     func() { s.Rotate(Rotary{Heads: 2, D: 128, Theta: 1e4}, dst, x, pos) },
			"Rotate pairs": func() {
				s.Rotate(Rotary{Heads: 2, D: 128, Theta: 1e4, Interleaved: true}, dst, x, pos)
			},
			"Conv":       func() { s.Conv(dst, x, y, win, seq, 0, k) },
			"ScatterAdd": func() { _ = s.ScatterAdd(dst, k, x, k, k, pos, nil) },
			"TopK":       func() { _ = s.TopK(make([]int32, 0, 24)[:24], x, k, 8) },
			"Encode":     func() { s.Encode(a8, x, ir.BF16) },
			"Decode":     func() { s.Decode(dst, a8, ir.F16) },
		} {
			if got := testing.AllocsPerRun(5, f); got != 0 {
				t.Errorf("%s: %s allocates %v times a call, want 0", s, name, got)
			}
		}
	}
}
