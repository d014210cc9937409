package quant

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScreenKeepsTheBest compares what a screening leaves with all trials in f64:
// the first of the best is among it, and seldom anything else.
func TestScreenKeepsTheBest(t *testing.T) {
	if !screens() {
		t.Skip("nothing is screened here")
	}
	for _, g := range []int{32, 64, 128} {
		s := searcher{a: make([][lanes]float32, g)}
		for _, c := range sources {
			r := rand.New(rand.NewPCG(uint64(g), 19))
			groups, left := 0, 0
			for round := range 300 {
				w := make([]float32, lanes*g)
				for i := range w {
					w[i] = c.make(r)
					if round%3 == 1 && magnitude(w[i]) < magnitude(1000) { // few values: trials of equal errors
						w[i] = float32(math.Trunc(float64(w[i])*4)) / 4
					}
				}
				require.True(t, s.load(lanes, w))
				trials(&s.trials, &s.most)
				s.screen()
				for l := range lanes {
					if s.most[l] == 0 {
						continue
					}
					best, least := 0, math.Inf(1)
					for i, scale := range s.trials {
						if e, _ := errorAndFit(w[l*g:(l+1)*g], scale[l]); e < least {
							best, least = i, e
						}
					}
					if s.left[l]>>best&1 == 0 {
						t.Fatalf("%s, round %d, group %d of %d: trial %d is best, error %g, and left are %010b", c.name, round, l, g, best, least, s.left[l])
					}
					if round%3 != 1 {
						groups, left = groups+1, left+bits.OnesCount16(s.left[l])
					}
				}
			}
			if c.name == "normal" || c.name == "bf16" {
				require.Less(t, float64(left), 1.05*float64(groups), "%s: trials left of groups of %d", c.name, g)
			}
		}
	}
}

// TestNotScreened: where f32 would not do, every trial is left.
func TestNotScreened(t *testing.T) {
	for _, most := range []float32{0x1p-41, 0x1p41, math.MaxFloat32, math.SmallestNonzeroFloat32} {
		s := searcher{a: make([][lanes]float32, 32)}
		w := gauss(lanes*32, 1)
		w[5*32+3] = most
		if most < 1 {
			clear(w[5*32 : 6*32])
			w[5*32+3] = most
		}
		require.True(t, s.load(lanes, w))
		trials(&s.trials, &s.most)
		s.screen()
		for l, left := range s.left {
			require.EqualValues(t, 1<<len(ratios)-1, left, "group %d beside a largest weight of %g", l, most)
		}
	}
}
