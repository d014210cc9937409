package kernel

import "math"

// A Rotary is a rotary embedding of heads of D values, D even.
type Rotary struct {
	Heads, D    int
	Theta       float64
	Interleaved bool // pairs are (2i, 2i+1); otherwise (i, i+D/2)
}

// Apply rotates x [len(pos),Heads,D]: pair i of a row at position p turns by
// p * Theta^(-2i/D), an angle taken in float64, its sine and cosine in f32. dst
// may be x.
func (s *Set) Rotate(r Rotary, dst, x []float32, pos []int32) {
	step, far := 1, r.D/2
	if r.Interleaved {
		step, far = 2, 1
	}
	fall := -2 * math.Log(r.Theta) / float64(r.D)
	for t, p := range pos {
		size := r.Heads * r.D
		in, out := x[t*size:(t+1)*size], dst[t*size:(t+1)*size]
		for i := range r.D / 2 {
			s, c := math.Sincos(float64(p) * math.Exp(fall*float64(i)))
			sin, cos := float32(s), float32(c)
			for at := i * step; at < size; at += r.D {
				a, b := in[at], in[at+far]
				out[at] = float32(a*cos) - float32(b*sin)
				out[at+far] = float32(b*cos) + float32(a*sin)
			}
		}
	}
}
