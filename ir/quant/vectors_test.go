package quant

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// lengths are of rows: whole blocks of vectors, their tails, and less than one.
var lengths = []int{0, 1, 31, 32, 33, 64, 96, 127, 128, 1000}

func TestNearestIsPlain(t *testing.T) {
	for _, c := range sources {
		for _, n := range lengths {
			r := rand.New(rand.NewPCG(uint64(n), 11))
			w := make([]float32, n)
			for i := range w {
				w[i] = c.make(r)
			}
			for _, top := range []int8{7, 127} {
				for _, ratio := range []float64{6.5, 7, 10.6, 126, 127, 2000} {
					scale := storable(float64(max(Largest(w), 1e-30))/ratio, float64(top))
					got, want := make([]int8, n), make([]int8, n)
					nearest(got, w, scale, top)
					nearestPlain(want, w, 1/scale, top)
					require.Equal(t, want, got, "%s, %d weights, top %d, ratio %g", c.name, n, top, ratio)
				}
			}
		}
	}
}

// TestNearestOfTies has weights halfway between codes, which go to the even one, and
// just beside.
func TestNearestOfTies(t *testing.T) {
	var w []float32
	for i := range 300 {
		half := (float32(i%20) - 9.5) * 0.375
		w = append(w, half, math.Nextafter32(half, 100), math.Nextafter32(half, -100))
	}
	got := make([]int8, len(w))
	nearest(got, w, 0.375, 7)
	for i, v := range w {
		want := max(-7, min(7, math.RoundToEven(float64(v)/0.375)))
		require.EqualValues(t, want, got[i], "code of %v, weight %d", v, i)
	}
}

func TestLargest(t *testing.T) {
	for _, n := range lengths {
		require.Zero(t, Largest(make([]float32, n)))
		for at := range n {
			w := make([]float32, n)
			w[(at+7)%n], w[at] = 1, -2
			require.EqualValues(t, 2, Largest(w), "%d weights, -2 at %d", n, at)
			w[at] = inf
			require.Equal(t, inf, Largest(w), "%d weights, infinite at %d", n, at)
			w[at] = -nan
			require.NotEqual(t, Largest(w), Largest(w), "%d weights, NaN at %d", n, at)
		}
	}
}

func TestFromBF16s(t *testing.T) {
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
	}
	for _, n := range append(lengths, 1<<16) {
		dst := make([]float32, n)
		FromBF16s(dst, src)
		for i, got := range dst {
			if want := FromBF16(uint16(i)); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("value %#x of %d: got %x, want %x", i, n, got, want)
			}
		}
	}
}

func TestMagnitudesIsPlain(t *testing.T) {
	for _, g := range []int{8, 32, 64, 128} {
		for _, c := range sources {
			r := rand.New(rand.NewPCG(uint64(g), 13))
			w := make([]float32, lanes*g)
			for i := range w {
				w[i] = c.make(r)
			}
			got, want := make([][lanes]float32, g), make([][lanes]float32, g)
			var most, mostWant [lanes]uint32
			magnitudes(got, w, &most)
			magnitudesPlain(want, w, &mostWant, lanes)
			require.Equal(t, want, got, "%s, groups of %d", c.name, g)
			require.Equal(t, mostWant, most, "%s, groups of %d", c.name, g)
		}
	}
}

func TestScalesArePlain(t *testing.T) {
	for _, c := range sources {
		r := rand.New(rand.NewPCG(3, 17))
		for range 100 {
			var most, ab, bb, got, want [lanes]float64
			for l := range lanes {
				most[l] = math.Abs(float64(c.make(r)))
				ab[l], bb[l] = most[l]*float64(r.IntN(6000)), float64(1+r.IntN(6000))
			}
			var some, all [len(ratios)][lanes]float64
			trials(&some, &most)
			trialsPlain(&all, &most)
			require.Equal(t, all, some, "%s, of %v", c.name, most)
			quotients(&got, &ab, &bb)
			quotientsPlain(&want, &ab, &bb)
			require.Equal(t, want, got, "%s, %v over %v", c.name, ab, bb)
		}
	}
}
