package quant

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// F16 returns the bits of the half-precision number nearest to x, ties to even;
// what is beyond the largest becomes an infinity.
func F16(x float32) uint16 { return float16.Fromfloat32(x).Bits() }

// FromF16 returns the value of half-precision bits.
func FromF16(h uint16) float32 { return float16.Frombits(h).Float32() }

// BF16 returns the bits of the bfloat16 number nearest to x, ties to even; what
// is beyond the largest becomes an infinity.
func BF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40 // keep it a NaN whatever bits are cut off
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromBF16 returns the value of bfloat16 bits.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// FromBF16s sets dst to the values of bfloat16 bits, two bytes each, the lower first.
func FromBF16s(dst []float32, src []byte) {
	n := valuesVectors(dst, src)
	for i := range dst[n:] {
		dst[n+i] = FromBF16(binary.LittleEndian.Uint16(src[2*(n+i):]))
	}
}
