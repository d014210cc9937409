package quant

import "math"

// ratios are the values of max|w|/scale that a search tries: 7 makes the largest
// weight the last code, more cuts it off, less leaves room beyond it.
var ratios = [...]float64{7, 6.6, 7.3, 7.6, 8, 8.4, 8.8, 9.3, 9.9, 10.6}

// A searcher finds scales of groups for codes -7..7, without calibration data.
type searcher struct {
	a []float64 // magnitudes of a group: symmetric codes make signs irrelevant
}

// best returns the storable scale with the least squared error
// among max|w|/ratio and what least squares makes of the best of them; 0 for a
// group of zeros.
func (s *searcher) best(w []float32) float64 {
	most := largest(w)
	if most == 0 {
		return 0
	}
	for i, v := range w {
		s.a[i] = math.Abs(float64(v))
	}
	scale := storable(most/ratios[0], 7)
	least := s.error(scale)
	for _, r := range ratios[1:] {
		c := storable(most/r, 7)
		if e := s.error(c); e < least {
			scale, least = c, e
		}
	}
	for {
		c := storable(s.fit(scale), 7)
		e := s.error(c)
		if e >= least {
			return scale
		}
		scale, least = c, e
	}
}

// error returns the sum of (a - scale*code)² with the codes nearest to a/scale.
func (s *searcher) error(scale float64) float64 {
	inv, sum := 1/scale, 0.0
	for _, v := range s.a {
		d := v - float64(scale*code7(v*inv))
		sum += float64(d * d)
	}
	return sum
}

// fit returns the scale of least squared error for the codes of scale.
func (s *searcher) fit(scale float64) float64 {
	inv, ab, bb := 1/scale, 0.0, 0.0
	for _, v := range s.a {
		q := code7(v * inv)
		ab += float64(v * q)
		bb += q * q // whole numbers
	}
	return ab / bb
}

// code7 rounds x >= 0 to a whole number of at most 7.
func code7(x float64) float64 { return roundEven(min(x, 7)) }
