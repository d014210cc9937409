package quant

import (
	"math"
	"math/bits"
)

// ratios are the values of max|w|/scale that a search tries: 7 makes the largest
// weight the last code, more cuts it off, less leaves room beyond it.
var ratios = [...]float64{7, 6.6, 7.3, 7.6, 8, 8.4, 8.8, 9.3, 9.9, 10.6}

// lanes is how many groups are searched side by side.
const lanes = 8

// A searcher finds scales of groups for codes -7..7, without calibration data.
// What a group gets depends on that group alone: the sums of one never meet those
// of another, and the weights of each are summed in their order.
type searcher struct {
	a      [][lanes]float32            // magnitudes of groups: symmetric codes make signs irrelevant
	most   [lanes]float64              // the largest of each
	trials [len(ratios)][lanes]float64 // what ratios make of it: scales
	left   [lanes]uint16               // of trials, those still to be tried, a bit for each
	trial  [lanes]float64              // scales
	fit    [lanes]float64              // scales
	found  found
}

// A found is the best scale of each group so far, and what follows from it.
type found struct {
	scale  [lanes]float64
	error  [lanes]float64 // sum of (a - scale*code)², code nearest to a/scale
	ab, bb [lanes]float64 // sums of a*code and code²: least squares makes ab/bb of these codes
}

// best sets scales, at most as many as there are lanes, to storable ones for the
// groups of w: those with the least squared error among max|w|/ratio and what least
// squares makes of the best of them; 0 for a group of zeros. It reports whether
// the weights are finite.
func (s *searcher) best(scales []float64, w []float32) bool {
	if !s.load(len(scales), w) {
		return false
	}
	trials(&s.trials, &s.most)
	s.screen()
	for s.next() {
		if s.open() {
			improve(s.a, &s.trial, &s.found)
		}
	}
	for s.refit() {
		improve(s.a, &s.trial, &s.found)
	}
	copy(scales, s.found.scale[:])
	return true
}

// load takes n groups from w; other lanes hold what was there, of which 0 is good.
func (s *searcher) load(n int, w []float32) bool {
	var most [lanes]uint32
	if n == lanes {
		magnitudes(s.a, w, &most)
	} else {
		magnitudesPlain(s.a, w, &most, n)
	}
	s.found = found{bb: [lanes]float64{1, 1, 1, 1, 1, 1, 1, 1}}
	finite := true
	for l, bits := range most {
		m := float64(math.Float32frombits(bits))
		finite = finite && m <= math.MaxFloat32
		s.most[l], s.found.error[l] = m, m*m*float64(len(s.a)) // more than of any trial, if that is not 0
	}
	return finite
}

// next takes the next trial of each lane, and reports whether there is one: the
// first of equal ones is the one that counts.
func (s *searcher) next() bool {
	more := false
	for l, left := range s.left {
		if left != 0 {
			s.trial[l] = s.trials[bits.TrailingZeros16(left)][l]
			s.left[l], more = left&(left-1), true
		}
	}
	return more
}

// open reports whether trial may be better anywhere: what is cut off the largest
// weight is a part of the error.
func (s *searcher) open() bool {
	open := false
	for l, most := range s.most {
		d := most - 7*s.trial[l]
		open = open || float64(d*d) < s.found.error[l]
	}
	return open
}

// refit tries what least squares makes of the best scales, and reports whether
// that is new anywhere.
func (s *searcher) refit() bool {
	quotients(&s.fit, &s.found.ab, &s.found.bb)
	moved := false
	for l, c := range s.fit {
		moved = moved || c != s.trial[l] && c != s.found.scale[l]
	}
	s.trial = s.fit
	return moved
}

// trialsPlain sets t to the storable scales nearest to most/ratio.
func trialsPlain(t *[len(ratios)][lanes]float64, most *[lanes]float64) {
	for i, r := range ratios {
		for l, m := range most {
			t[i][l] = storable(m/r, 7)
		}
	}
}

// quotientsPlain sets scales to the storable ones nearest to a/b.
func quotientsPlain(scales, a, b *[lanes]float64) {
	for l := range scales {
		scales[l] = storable(a[l]/b[l], 7)
	}
}

// magnitudesPlain sets lanes of a to the magnitudes of n groups of w, and most to the
// largest of each.
func magnitudesPlain(a [][lanes]float32, w []float32, most *[lanes]uint32, n int) {
	for l := range n {
		for i, v := range w[l*len(a) : (l+1)*len(a)] {
			m := magnitude(v)
			most[l] = max(most[l], m)
			a[i][l] = math.Float32frombits(m)
		}
	}
}

// improvePlain puts trial in f where its error is less. Products of a scale, a
// weight or a code with a code are exact: whether they are rounded is no matter.
func improvePlain(a [][lanes]float32, trial *[lanes]float64, f *found) {
	for l, scale := range trial {
		inv, e, ab, bb := 1/scale, 0.0, 0.0, 0.0
		for i := range a {
			v := float64(a[i][l])
			code := roundEven(min(v*inv, 7))
			d := v - scale*code
			e += float64(d * d)
			ab += v * code
			bb += code * code
		}
		if e < f.error[l] {
			f.scale[l], f.error[l], f.ab[l], f.bb[l] = scale, e, ab, bb
		}
	}
}
