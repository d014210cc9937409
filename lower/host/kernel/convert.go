package kernel

import (
	"estream/ir"
	"estream/lower"
)

// Encode is lower.Encode, bit for bit.
func (s *Set) Encode(dst []byte, src []float32, d ir.DType) {
	if s.vec == nil || d != ir.BF16 && d != ir.F16 {
		lower.Encode(dst, src, d)
		return
	}
	k := vecEncodeBF16
	if d == ir.F16 {
		k = vecEncodeF16
	}
	dst = dst[:2*len(src)]
	for left := len(src); left > 0; {
		n := min(left, vecMost)
		s.vec.run(k, &vecArgs{bytes: dst, x: src, n: n})
		dst, src, left = dst[2*n:], src[n:], left-n
	}
}

// Decode is lower.Decode.
func (s *Set) Decode(dst []float32, src []byte, d ir.DType) {
	if s.vec == nil || d != ir.BF16 && d != ir.F16 {
		lower.Decode(dst, src, d)
		return
	}
	k := vecDecodeBF16
	if d == ir.F16 {
		k = vecDecodeF16
	}
	src = src[:2*len(dst)]
	for left := len(dst); left > 0; {
		n := min(left, vecMost)
		s.vec.run(k, &vecArgs{bytes: src, dst: dst, n: n})
		dst, src, left = dst[n:], src[2*n:], left-n
	}
}
