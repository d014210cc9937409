package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// fmaSets returns sets that have one, each another.
func fmaSets() (sets []*Set) {
	seen := map[fmaSet]bool{}
	for _, s := range Sets() {
		if s.fma != nil && !seen[*s.fma] {
			seen[*s.fma] = true
			sets = append(sets, s)
		}
	}
	return sets
}

// edged returns a copy of x that ends where nothing may be read.
func edged(t testing.TB, x []float32) []float32 {
	y := lower.F32(pages(t, 4*len(x)))
	copy(y, x)
	return y
}

// rounded rounds x to bfloat16 and returns that, as numbers and as they lie in words.
func rounded(x []float32) (numbers, words []float32) {
	numbers, words = make([]float32, len(x)), make([]float32, len(x)/2)
	for i, v := range x {
		h := quant.BF16(v)
		numbers[i] = quant.FromBF16(h)
		words[i/2] = math.Float32frombits(math.Float32bits(words[i/2]) | uint32(h)<<(16*(i%2)))
	}
	return numbers, words
}

// TestGemm compares all forms, numbers of rows and ends of k with sums in float64.
func TestGemm(t *testing.T) {
	for _, set := range fmaSets() {
		for _, form := range []int{formF32, formBF16, formF16, formPairs} {
			if form == formPairs && !set.fma.pairs {
				continue
			}
			for rows := 1; rows <= set.fma.rows; rows++ {
				for _, k := range []int{1, 2, 3, 4, 7, 33} {
					panels := 1 + (rows+k)%3
					g := newGemmCase(t, form, rows, k, panels)
					for _, falls := range []bool{false, true} {
						g.run(t, set, falls)
					}
				}
			}
		}
	}
}

// A gemmCase has a and b as a gemm takes them, and as numbers.
type gemmCase struct {
	gemm
	left  []float32 // [rows][depth]
	right []float32 // [depth][32*panels]
	depth int
}

func newGemmCase(t *testing.T, form, rows, k, panels int) *gemmCase {
	g := &gemmCase{gemm: gemm{form: form, rows: rows, k: k, panels: panels}, depth: k}
	if form == formPairs {
		g.depth = 2 * k
	}
	cols := PanelColumns * panels
	g.left, g.right = normal(rows*g.depth, uint64(rows+k)), normal(g.depth*cols, uint64(k))
	g.aStride = k + rows%2
	if form == formPairs {
		var words []float32
		g.left, words = rounded(g.left)
		g.a = words
		g.aStride = k
	} else {
		g.a = make([]float32, (rows-1)*g.aStride+k)
		for r := range rows {
			copy(g.a[r*g.aStride:], g.left[r*k:(r+1)*k])
		}
	}
	g.a = edged(t, g.a)
	g.b, g.bStride = g.panelsOf(form, cols)
	g.b = edged(t, g.b)
	return g
}

// panelsOf arranges right, and rounds it.
func (g *gemmCase) panelsOf(form, cols int) (b []float32, stride int) {
	var bytes []byte
	d := map[int]ir.DType{formF32: ir.F32, formBF16: ir.BF16, formF16: ir.F16, formPairs: ir.BF16}[form]
	for p := 0; p < cols; p += PanelColumns {
		var panel []float32
		for k := 0; k < g.depth; k++ {
			panel = append(panel, g.right[k*cols+p:][:PanelColumns]...)
		}
		if form == formPairs {
			paired := make([]float32, len(panel))
			for i, v := range panel {
				k, c := i/PanelColumns, i%PanelColumns
				paired[k/2*2*PanelColumns+2*c+k%2] = v
			}
			panel = paired
		}
		one := make([]byte, len(panel)*d.Bits()/8)
		lower.Encode(one, panel, d)
		bytes = append(bytes, one...)
	}
	lower.Decode(g.right, encodedAs(g.right, d), d)
	return lower.F32(bytes), len(bytes) / 4 / (cols / PanelColumns)
}

func encodedAs(x []float32, d ir.DType) []byte {
	b := make([]byte, len(x)*d.Bits()/8)
	lower.Encode(b, x, d)
	return b
}

func (g *gemmCase) run(t *testing.T, set *Set, falls bool) {
	cols := PanelColumns * g.panels
	run := g.gemm
	run.cStride = cols + 5
	before := filled(g.rows*run.cStride, canary)
	if falls {
		before = normal(len(before), 8)
		run.fall = edged(t, normal(g.rows, 9))
	}
	run.c = append([]float32{}, before...)
	set.fma.gemm(&run)
	for i, got := range run.c {
		r, c := i/run.cStride, i%run.cStride
		want, within := float64(before[i]), 0.0
		if c < cols {
			want = 0
			if falls {
				want = float64(run.fall[r]) * float64(before[i])
			}
			within = math.Abs(want)
			for k := range g.depth {
				p := float64(g.left[r*g.depth+k]) * float64(g.right[k*cols+c])
				want, within = want+p, within+math.Abs(p)
			}
			within *= float64(g.depth+2) * 0x1p-24
		}
		if !(math.Abs(float64(got)-want) <= within) {
			t.Fatalf("%s form %d, %d rows, k=%d, %d panels, fall %v: row %d column %d is %g, want %g to %.2g", set, g.form, g.rows, g.k, g.panels, falls, r, c, got, want, within)
		}
	}
}

// TestWeigh compares a few rows with powers of 2 in float64: two units in the last
// place, or half of one of bfloat16 more.
func TestWeigh(t *testing.T) {
	const columns = 224
	for _, set := range fmaSets() {
		for _, pairs := range []bool{false, true} {
			if pairs && !set.fma.pairs {
				continue
			}
			rows := set.fma.rows
			scores, stats := filled(rows*flashKeys, canary), filled(3*statLanes, 0)
			for i := range scores {
				if i%flashKeys < columns {
					scores[i] = -float32(i*i%4096) / 33 // down to -124, and 0
				}
			}
			scores[3], scores[4] = float32(math.Inf(-1)), -math.MaxFloat32
			w := weigh{scores: append([]float32{}, scores...), rows: rows, columns: columns, pairs: pairs,
				top: stats[:statLanes], total: stats[statLanes:], fall: stats[2*statLanes:]}
			w.weights = w.scores
			if pairs {
				w.weights = make([]float32, rows*flashKeys/2)
			}
			for r := range rows {
				w.top[r], w.total[r] = -3.5-float32(r), 7
			}
			set.fma.weigh(&w)
			for r := range rows {
				top := math.Inf(-1)
				for c := range columns {
					top = max(top, float64(scores[r*flashKeys+c]))
				}
				require.Equal(t, float32(max(top, -3.5-float64(r))), w.top[r], "%s row %d: the maximum", set, r)
				fall := math.Exp2(min(0, -3.5-float64(r)-top))
				require.InEpsilon(t, fall, w.fall[r], 0x1p-22, "%s row %d: the fall", set, r)
				w.check(t, set, r, scores[r*flashKeys:], 7*fall)
			}
		}
	}
}

// check compares the weights of a row, and its total, with those of the scores.
func (w *weigh) check(t *testing.T, set *Set, r int, scores []float32, total float64) {
	for c := range w.columns {
		want := math.Exp2(float64(scores[c]) - float64(w.top[r]))
		got, within := w.weight(r, c), math.Ldexp(2, math.Ilogb(want)-23)
		if w.pairs {
			within += math.Ldexp(0.5, math.Ilogb(want)-7)
		}
		if want < 0x1p-126 {
			within = 0x1p-126
		}
		if !(math.Abs(float64(got)-want) <= within) || want == 0 && got != 0 {
			t.Fatalf("%s pairs=%v: 2^(%g-%g) is %g, want %g to %.2g", set, w.pairs, scores[c], w.top[r], got, want, within)
		}
		total += float64(got)
	}
	require.InEpsilon(t, total, w.total[r], 1e-6, "%s pairs=%v row %d: the total", set, w.pairs, r)
}

// weight returns a weight as a number.
func (w *weigh) weight(r, c int) float32 {
	if !w.pairs {
		return w.weights[r*flashKeys+c]
	}
	word := math.Float32bits(w.weights[r*flashKeys/2+c/2])
	return quant.FromBF16(uint16(word >> (16 * (c % 2))))
}

// TestWeighNaN: what is not a number reaches the total, infinities do not but as NaN.
func TestWeighNaN(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, set := range fmaSets() {
		for _, pairs := range []bool{false, set.fma.pairs} {
			for i, c := range []struct {
				score float32
				nan   bool
			}{{nan, true}, {inf, true}, {-inf, false}, {3e38, false}, {-3e38, false}} {
				for _, at := range []int{0, 13, 31} {
					scores, stats := make([]float32, flashKeys), make([]float32, 3*statLanes)
					scores[at] = c.score
					w := weigh{scores: scores, weights: scores, rows: 1, columns: 32, pairs: pairs,
						top: stats[:statLanes], total: stats[statLanes:], fall: stats[2*statLanes:]}
					if pairs {
						w.weights = make([]float32, flashKeys/2)
					}
					set.fma.weigh(&w)
					if total := w.total[0]; c.nan != (total != total) {
						t.Errorf("%s pairs=%v case %d: the total with %g is %g", set, pairs, i, c.score, total)
					}
				}
			}
		}
	}
}

// TestScale has every length up to a few registers, at the end of memory.
func TestScale(t *testing.T) {
	for _, set := range fmaSets() {
		for n := 1; n < 70; n++ {
			src := edged(t, normal(n, uint64(n)))
			src[0] = float32(math.Copysign(0, -1))
			dst := filled(n+2, canary)
			set.fma.scale(dst[1:], src, -0.75, false, &src[0])
			require.Equal(t, []float32{canary, canary}, []float32{dst[0], dst[n+1]}, "%s: %d numbers, what is beside them", set, n)
			for i, v := range src {
				require.Equal(t, math.Float32bits(v*-0.75+0), math.Float32bits(dst[1+i]), "%s: number %d of %d", set, i, n)
			}
			if !set.fma.pairs {
				continue
			}
			words := filled((n+1)/2+1, 0)
			words[len(words)-1] = canary
			set.fma.scale(words, src, -0.75, true, &src[0])
			require.Equal(t, float32(canary), words[len(words)-1], "%s: %d pairs, what is behind them", set, n)
			for i, v := range src {
				half := uint16(math.Float32bits(words[i/2]) >> (16 * (i % 2)))
				require.Equal(t, quant.BF16(v*-0.75+0), half, "%s: bfloat16 %d of %d", set, i, n)
			}
		}
	}
}

// TestPack has rows of every length up to a few registers, the last of which ends
// where nothing may be read.
func TestPack(t *testing.T) {
	for _, set := range fmaSets() {
		for _, d := range []ir.DType{ir.F32, ir.BF16} {
			for n := 1; n < 70; n++ {
				testPack(t, set, d, n)
			}
		}
	}
}

func testPack(t *testing.T, set *Set, d ir.DType, n int) {
	const rows = PanelColumns + 5
	size := d.Bits() / 8
	src := pages(t, rows*n*size)
	copy(src, encoded(rows*n, d, uint64(n)))
	numbers := make([]float32, rows*n)
	lower.Decode(numbers, src, d)
	p := rowPanel{n: n, src: src, form: formF32}
	if d == ir.BF16 {
		if p.form = formBF16; set.fma.pairs {
			p.form = formPairs
		}
	}
	order := func(i int) int { return (i*7 + n) % rows } // of rows
	for i := range p.at {
		p.at[i] = order(i) * n * size
		p.next[i] = p.at[i]
	}
	p.at[1] = (rows - 1) * n * size
	row := func(i int) []float32 {
		if i == 1 {
			return numbers[(rows-1)*n:]
		}
		return numbers[order(i)*n:][:n]
	}
	words := n
	if p.form == formPairs {
		words = (n + 1) / 2
	}
	p.dst = filled(roundUp(words, set.fma.lanes)*PanelColumns+1, canary)
	end := len(p.dst) - 1
	set.fma.keys(&p)
	require.Equal(t, float32(canary), p.dst[end], "%s %s: keys of %d, what is behind the panel", set, d, n)
	for i := range PanelColumns {
		for e, want := range row(i) {
			require.Equal(t, want, p.key(i, e), "%s %s: element %d of key %d of %d", set, d, e, i, n)
		}
		if p.form == formPairs && n%2 == 1 {
			require.Zero(t, p.key(i, n), "%s: what pairs with the last of %d", set, n)
		}
	}
	p.stride = PanelColumns * PanelColumns
	p.dst = filled(roundUp(n, PanelColumns)*PanelColumns+1, canary)
	end = len(p.dst) - 1
	set.fma.values(&p)
	require.Equal(t, float32(canary), p.dst[end], "%s %s: values of %d, what is behind the panels", set, d, n)
	require.False(t, p.infinite(), "%s %s: %d finite values", set, d, n)
	for i := range PanelColumns {
		for e, want := range row(i) {
			require.Equal(t, want, p.value(i, e), "%s %s: value %d of key %d of %d", set, d, e, i, n)
		}
	}
}

// key returns element e of a key of a panel.
func (p *rowPanel) key(i, e int) float32 {
	if p.form == formPairs {
		return pairOf(p.dst[e/2*PanelColumns+i], e%2)
	}
	return p.dst[e*PanelColumns+i]
}

// value returns value e of a key of panels.
func (p *rowPanel) value(i, e int) float32 {
	panel := p.dst[e/PanelColumns*p.stride+e%PanelColumns:]
	if p.form == formPairs {
		return pairOf(panel[i/2*PanelColumns], i%2)
	}
	return panel[i*PanelColumns]
}

// pairOf returns the first or second bfloat16 of a word.
func pairOf(word float32, i int) float32 {
	return quant.FromBF16(uint16(math.Float32bits(word) >> (16 * i)))
}

// TestMulPlain compares plain matrices with float64, of odd shapes, and every
// split of rows and panels with the whole.
func TestMulPlain(t *testing.T) {
	const rows = 19
	for _, set := range fmaSets() {
		for _, d := range []ir.DType{ir.F32, ir.BF16, ir.F16} {
			for _, s := range [][2]int{{1, 1}, {31, 3}, {64, 100}, {70, 1300}} {
				n, k, stride := s[0], s[1], s[0]+3
				w, x := packed(t, d, n, k), edged(t, normal(rows*k, 9))
				want, got := make([]float32, rows*stride), filled(rows*stride, canary)
				plain.MulF32(w, want, stride, x, rows, 0, w.Panels())
				set.MulF32(w, got, stride, x, rows, 0, w.Panels())
				name := fmt.Sprintf("%s %s[%d,%d]", set, d, n, k)
				for i, v := range got {
					if c := i % stride; c >= n {
						require.Equal(t, float32(canary), v, "%s: what is beside row %d", name, i/stride)
					} else {
						require.InDelta(t, want[i], v, 4e-6*math.Sqrt(float64(k)), "%s: row %d column %d: sums of up to %d products near 1 in f32", name, i/stride, c, mulRun)
					}
				}
				for _, split := range [][2]int{{1, 1}, {5, 2}, {8, 1}} {
					part := filled(rows*stride, canary)
					for r := 0; r < rows; r += split[0] {
						for p := 0; p < w.Panels(); p += split[1] {
							set.MulF32(w, part[r*stride:], stride, x[r*k:], min(split[0], rows-r), p, min(w.Panels(), p+split[1]))
						}
					}
					requireBits(t, got, part, "%s in runs of %d rows and %d panels", name, split[0], split[1])
				}
			}
		}
	}
}

func TestFMADoesNotAllocate(t *testing.T) {
	const rows, n, k = 13, 70, 64
	x, dst := normal(rows*n*k, 1), make([]float32, rows*n*k)
	for _, set := range fmaSets() {
		w := packed(t, ir.F32, n, k)
		a := &Attention{Heads: 4, Groups: 2, D: 32, Dv: 32, Scale: 1, DType: ir.BF16, Keys: encoded(100*64, ir.BF16, 1), Values: encoded(100*64, ir.BF16, 2)}
		words, _ := set.AttendSpace(a)
		space := make([]float32, words)
		for name, f := range map[string]func(){
			"MulF32":      func() { set.MulF32(w, dst, n, x, rows, 0, w.Panels()) },
			"Attend":      func() { set.Attend(a, dst, x, Sequence{Pos: 80}, 0, rows, 0, 4, space) },
			"AttendSpace": func() { set.AttendSpace(a) },
		} {
			if got := testing.AllocsPerRun(10, f); got != 0 {
				t.Errorf("%s: %s allocates %v times a call, want 0", set, name, got)
			}
		}
	}
}

func TestPeaks(t *testing.T) {
	require.Zero(t, plain.peakF32())
	require.Zero(t, plain.peakBF16())
	for _, set := range fmaSets() {
		require.Positive(t, set.peakF32(), "%s", set)
		require.Equal(t, set.fma.pairs, set.peakBF16() > 0, "%s", set)
	}
}
