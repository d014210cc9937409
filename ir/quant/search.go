package quant

import "math"

// ratios are the values of max|w|/scale that a search tries: 7 makes the largest
// weight the last code, more cuts it off, less leaves room beyond it.
var ratios = [...]float64{7, 6.6, 7.3, 7.6, 8, 8.4, 8.8, 9.3, 9.9, 10.6}

// lanes is how many groups are searched side by side.
const lanes = 8

// A searcher finds scales of groups for codes -7..7, without calibration data.
// What a group gets depends on that group alone: the sums of one never meet those
// of another, and the weights of each are summed in their order.
type searcher struct {
	a     [][lanes]float64 // magnitudes of groups: symmetric codes make signs irrelevant
	most  [lanes]float64   // the largest of each
	trial [lanes]float64   // scales
	found found
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
	for _, r := range ratios {
		if s.cut(r) {
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
	a := s.a
	s.most, s.found = [lanes]float64{}, found{bb: [lanes]float64{1, 1, 1, 1, 1, 1, 1, 1}}
	finite := true
	for l := range n {
		group := w[l*len(a):][:len(a)]
		var most uint32
		for i := range a {
			m := magnitude(group[i])
			most = max(most, m)
			a[i][l] = float64(math.Float32frombits(m))
		}
		m := float64(math.Float32frombits(most))
		finite = finite && m <= math.MaxFloat32
		s.most[l], s.found.error[l] = m, m*m*float64(len(a)) // more than of any trial, if that is not 0
	}
	return finite
}

// cut tries max|w|/ratio, and reports whether that may be better anywhere: what is
// cut off the largest weight is a part of the error.
func (s *searcher) cut(ratio float64) bool {
	open := false
	for l, most := range s.most {
		c := storable(most/ratio, 7)
		d := most - 7*c
		open = open || float64(d*d) < s.found.error[l]
		s.trial[l] = c
	}
	return open
}

// refit tries what least squares makes of the best scales, and reports whether
// that is new anywhere.
func (s *searcher) refit() bool {
	moved := false
	for l, tried := range s.trial {
		c := storable(s.found.ab[l]/s.found.bb[l], 7)
		moved = moved || c != tried && c != s.found.scale[l]
		s.trial[l] = c
	}
	return moved
}

// improvePlain puts trial in f where its error is less. Products of a scale, a
// weight or a code with a code are exact: whether they are rounded is no matter.
func improvePlain(a [][lanes]float64, trial *[lanes]float64, f *found) {
	for l, scale := range trial {
		inv, e, ab, bb := 1/scale, 0.0, 0.0, 0.0
		for i := range a {
			v := a[i][l]
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
