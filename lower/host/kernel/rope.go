package kernel

import "math"

// A Rotary is a rotary embedding of heads of D values, D even. Pair i turns by
// Theta^(-2i/D) a position, where Factor is not 0 or 1 mixed with Factor times less:
// from all of the first at i <= Low to all of the other at i >= High.
type Rotary struct {
	Heads, D          int
	Theta             float64
	Interleaved       bool // pairs are (2i, 2i+1); otherwise (i, i+D/2)
	Factor, Low, High float64
	Scale             float64 // multiplies what comes out; 0 is 1
}

// rotaryMost is how many pairs are turned at a time.
const rotaryMost = 128

// Rotate rotates x [len(pos),Heads,D] by the angles of r's pairs at each row's
// position, taken in float64; their sines and cosines times Scale are f32. dst may
// be x.
func (s *Set) Rotate(r Rotary, dst, x []float32, pos []int32) {
	if r.Scale == 0 {
		r.Scale = 1
	}
	var freq [rotaryMost]float64
	for from := 0; from < r.D/2 && len(pos) > 0; from += rotaryMost {
		freq := freq[:min(rotaryMost, r.D/2-from)]
		r.frequencies(freq, from)
		switch {
		case s.vec == nil:
			r.rotate(dst, x, pos, freq, from)
		case r.Interleaved:
			s.vec.rotatePairs(&r, dst, x, pos, freq, from)
		default:
			s.vec.rotateHalves(&r, dst, x, pos, freq, from)
		}
	}
}

// frequencies sets freq to radians a position of the pairs from first on.
func (r *Rotary) frequencies(freq []float64, first int) {
	fall := -2 * math.Log(r.Theta) / float64(r.D)
	next := math.Exp(fall)
	for j := range freq {
		i := float64(first + j)
		if j%8 == 0 {
			freq[j] = math.Exp(fall * i)
		} else {
			freq[j] = freq[j-1] * next
		}
	}
	if r.Factor == 0 || r.Factor == 1 {
		return
	}
	for j, f := range freq {
		low := r.ramp(float64(first + j))
		freq[j] = f*(1-low) + f/r.Factor*low
	}
}

// ramp is how much of pair i's frequency is divided by Factor.
func (r *Rotary) ramp(i float64) float64 {
	switch {
	case r.High > r.Low:
		return max(0, min(1, (i-r.Low)/(r.High-r.Low)))
	case i >= r.Low:
		return 1
	}
	return 0
}

// rotate turns the pairs from first on.
func (r *Rotary) rotate(dst, x []float32, pos []int32, freq []float64, first int) {
	step, far := 1, r.D/2
	if r.Interleaved {
		step, far = 2, 1
	}
	size := r.Heads * r.D
	for t, p := range pos {
		in, out := x[t*size:(t+1)*size], dst[t*size:(t+1)*size]
		for i, f := range freq {
			s, c := math.Sincos(float64(p) * f)
			sin, cos := float32(s*r.Scale), float32(c*r.Scale)
			for at := (first + i) * step; at < size; at += r.D {
				a, b := in[at], in[at+far]
				out[at] = float32(a*cos) - float32(b*sin)
				out[at+far] = float32(b*cos) + float32(a*sin)
			}
		}
	}
}

// quarters are 2/π, which makes radians quarter turns.
const quarters = 2 / math.Pi

// args are those of kernels that turn heads of n elements from place at on.
func (r *Rotary) args(dst, x []float32, pos []int32, freq []float64, n, at int) vecArgs {
	size := len(pos) * r.Heads * r.D
	row, head := 4*r.Heads*r.D, 4*r.D
	return vecArgs{
		dst: dst[at:size], x: x[at:size], index: pos, freq: freq, n: n, rows: len(pos), heads: r.Heads,
		dstStride: row, xStride: row, yStride: row, headStride: head, headsBack: -row, scale: r.Scale,
	}
}

func (v *vecSet) rotateHalves(r *Rotary, dst, x []float32, pos []int32, freq []float64, first int) {
	var turns [rotaryMost]float64
	for i, f := range freq {
		turns[i] = f * quarters
	}
	a := r.args(dst, x, pos, turns[:], len(freq), first)
	a.dst2, a.y = a.dst[r.D/2:], a.x[r.D/2:]
	v.rowwise(vecRotateHalves, &a)
}

func (v *vecSet) rotatePairs(r *Rotary, dst, x []float32, pos []int32, freq []float64, first int) {
	var turns [2 * rotaryMost]float64
	for i, f := range freq {
		turns[2*i], turns[2*i+1] = -f*quarters, f*quarters
	}
	a := r.args(dst, x, pos, turns[:], 2*len(freq), 2*first)
	v.rowwise(vecRotatePairs, &a)
}
