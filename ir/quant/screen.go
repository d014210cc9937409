package quant

import "math/bits"

// slack is how much more than the least error a trial may have and still be tried in
// f64: its root, by a share of that root and by one of the largest weight. A screening
// is in f32. With x = a/scale off by at most 2^-19, so is the distance of x from its
// code; so the root of the sum of their squares over a group of at most 128 is off by
// less than 2^-15.5, or in weights, as a scale is at most most/6.5, by less than
// most*2^-18; rounding of the sum takes less than 2^-17 of the root. Slack is more
// than twice that, and the rounding of f64 far less. Nearly always it leaves one trial
// of the ten.
var slack = [2]float32{1.0 / (1 << 15), 1.0 / (1 << 16)}

const (
	// Where the largest weights are in between, no square overflows, and none that
	// counts is subnormal.
	leastScreened, mostScreened = 0x1p-40, 0x1p40
	longestScreened             = 128 // weights of a group
)

// screen leaves the trials that may be best.
func (s *searcher) screen() {
	s.left = [lanes]uint16{}
	if !s.screenable() {
		for l := range s.left {
			s.left[l] = 1<<len(ratios) - 1
		}
		return
	}
	var near [len(ratios)]uint8
	screenFMA(s.a, &s.trials, &s.most, &slack, &near)
	for i, some := range near {
		for ; some != 0; some &= some - 1 {
			s.left[bits.TrailingZeros8(some)] |= 1 << i
		}
	}
}

func (s *searcher) screenable() bool {
	if !screens() || len(s.a) > longestScreened {
		return false
	}
	for _, m := range s.most {
		if m != 0 && (m < leastScreened || m > mostScreened) {
			return false
		}
	}
	return true
}
