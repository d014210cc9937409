package main

import "math"

func decode(half bool) func(*vec) {
	return func(v *vec) {
		dst, src := v.pointer("dst", 4), v.pointer("bytes", 2)
		v.each(func() {
			x := v.reg()
			v.load16(x, src, half)
			if !half {
				v.shift("left", x, x, 16)
			}
			v.store(dst, x)
		}, dst, src)
	}
}

func encode(half bool) func(*vec) {
	return func(v *vec) {
		dst, src := v.pointer("bytes", 2), v.pointer("x", 4)
		v.each(func() {
			x := v.reg()
			v.load(x, src)
			if !half {
				v.roundBF16(x)
			}
			v.store16(dst, x, half)
		}, dst, src)
	}
}

// roundBF16 sets the low 16 bits of x to its bfloat16, ties to even. A NaN is cut
// off and its highest bit set, that it remains one.
func (v *vec) roundBF16(x operand) {
	high, rounded, finite := v.reg(), v.reg(), v.reg()
	v.shift("right", high, x, 16)
	v.op("and", rounded, high, whole(1))
	v.op("add.i", rounded, rounded, whole(0x7fff))
	v.op("add.i", rounded, rounded, x)
	v.shift("right", rounded, rounded, 16)
	v.op("or", high, high, whole(0x40))
	v.op("and", x, x, absolute)
	v.op("sub.i", finite, x, whole(int32(math.Float32bits(float32(math.Inf(1))))+1)) // negative if no NaN
	v.choose(x, finite, rounded, high, false)
}

var (
	encodeBF16, encodeF16 = encode(false), encode(true)
	decodeBF16, decodeF16 = decode(false), decode(true)
)
