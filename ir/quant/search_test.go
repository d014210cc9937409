package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// searchOne is the search as it is meant: one group, one scale after another.
func searchOne(w []float32) float64 {
	most := float64(Largest(w))
	if most == 0 {
		return 0
	}
	scale := storable(most/ratios[0], 7)
	least, fit := errorAndFit(w, scale)
	for _, r := range ratios[1:] {
		c := storable(most/r, 7)
		if e, f := errorAndFit(w, c); e < least {
			scale, least, fit = c, e, f
		}
	}
	for {
		c := storable(fit, 7)
		e, f := errorAndFit(w, c)
		if e >= least {
			return scale
		}
		scale, least, fit = c, e, f
	}
}

// errorAndFit returns the squared error of a scale, and the best for its codes.
func errorAndFit(w []float32, scale float64) (sum, fit float64) {
	ab, bb := 0.0, 0.0
	for _, v := range w {
		a := math.Abs(float64(v))
		code := math.RoundToEven(min(float64(a*(1/scale)), 7))
		d := a - float64(scale*code)
		sum += float64(d * d)
		ab += float64(a * code)
		bb += code * code
	}
	return sum, ab / bb
}

// sources make weights of all kinds.
var sources = []struct {
	name string
	make func(r *rand.Rand) float32
}{
	{"normal", func(r *rand.Rand) float32 { return float32(r.NormFloat64()) * 0.02 }},
	{"bf16", func(r *rand.Rand) float32 { return FromBF16(BF16(float32(r.NormFloat64()))) }},
	{"even", func(r *rand.Rand) float32 { return r.Float32() - 0.5 }},
	{"long tails", func(r *rand.Rand) float32 { return float32(math.Pow(r.NormFloat64(), 5)) }},
	{"ties", func(r *rand.Rand) float32 { return float32(r.IntN(31)-15) / 2 }},
	{"sparse", func(r *rand.Rand) float32 { return float32(max(0, r.NormFloat64()-2)) }},
	{"zeros", func(r *rand.Rand) float32 { return 0 }},
	{"largest", func(r *rand.Rand) float32 { return math.MaxFloat32 * float32(r.IntN(3)-1) }},
	{"subnormal", func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & 0x800fffff) }},
	{"any bits", func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & 0xff7fffff) }},
}

func TestSearchIsOneByOne(t *testing.T) {
	for _, g := range []int{32, 64, 128} {
		s := searcher{a: make([][lanes]float32, g)}
		for _, c := range sources {
			r := rand.New(rand.NewPCG(uint64(g), 5))
			for round := range 300 {
				n := 1 + round%lanes
				w := make([]float32, n*g)
				for i := range w {
					w[i] = c.make(r)
				}
				got := make([]float64, n)
				require.True(t, s.best(got, w))
				for i, scale := range got {
					if want := searchOne(w[i*g : (i+1)*g]); scale != want {
						t.Fatalf("%s, round %d, group %d of %d: got %g, want %g", c.name, round, i, g, scale, want)
					}
				}
			}
		}
	}
}

// TestImproveIsPlain compares bits of all that improve sets.
func TestImproveIsPlain(t *testing.T) {
	for _, n := range []int{0, 1, 2, 31, 128} {
		for _, c := range sources {
			t.Run(fmt.Sprint(c.name, " ", n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), 9))
				a := make([][lanes]float32, n)
				var got found
				most := 0.0
				for i := range a {
					for l := range lanes {
						a[i][l] = float32(math.Abs(float64(c.make(r))))
						most = max(most, float64(a[i][l]))
					}
				}
				for l := range lanes {
					got.error[l] = most * most * float64(n*(l%4)) / 400 // too little in some lanes
				}
				want := got
				for _, ratio := range []float64{1, 6.9, 7, 8.8, 1000} {
					var trial [lanes]float64
					for l := range trial {
						trial[l] = storable(most/ratio*(1+float64(l)/50), 7)
					}
					improve(a, &trial, &got)
					improvePlain(a, &trial, &want)
					require.Equal(t, want, got, "ratio %g", ratio)
				}
			})
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, v := range []float32{nan, inf, -inf} {
		for at := range 3 * 32 {
			w := make([]float32, 3*32)
			w[at] = v
			s := searcher{a: make([][lanes]float32, 32)}
			require.False(t, s.best(make([]float64, 3), w), "%v at %d", v, at)
		}
	}
}

func TestSearchAllocates(t *testing.T) {
	s, scales, w := searcher{a: make([][lanes]float32, 64)}, make([]float64, lanes), gauss(64*lanes, 3)
	require.Zero(t, testing.AllocsPerRun(10, func() { s.best(scales, w) }))
}
