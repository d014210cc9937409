package checkpoint

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"estream/ir/quant"
)

// A decoder fills dst from the little-endian codes in src, which holds them all. The first code begins at that bit
// of src[0], which is 0 but for types smaller than a byte.
type decoder func(dst []float32, src []byte, bit int)

// codes decodes fields of width bits, at most 8, packed from the lowest bit of each byte up, by table.
func codes(width int, table []float32) decoder {
	mask := uint(1)<<width - 1
	return func(dst []float32, src []byte, bit int) {
		for i := range dst {
			at := bit + i*width
			code := uint(src[at/8]) >> (at % 8)
			if at%8+width > 8 {
				code |= uint(src[at/8+1]) << (8 - at%8)
			}
			dst[i] = table[code&mask]
		}
	}
}

// minifloat lists the values of every code of a float of a sign, exp exponent bits and man mantissa bits, as if all
// were finite.
func minifloat(exp, man, bias int) []float32 {
	table := make([]float32, 1<<(1+exp+man))
	half := len(table) / 2
	for code := range half {
		e, m := code>>man, float64(code&(1<<man-1))
		if e == 0 {
			e = 1 // subnormal: no hidden bit
		} else {
			m += float64(int(1) << man)
		}
		v := math.Ldexp(m, e-bias-man)
		table[code], table[half+code] = float32(v), float32(math.Copysign(v, -1))
	}
	return table
}

// set gives the codes a value in table.
func set(table []float32, value float64, codes ...int) []float32 {
	for _, c := range codes {
		table[c] = float32(value)
	}
	return table
}

// ieee gives the top exponent of an E5M2 table its infinities and NaNs.
func ieee(table []float32) []float32 {
	set(table, math.Inf(1), 0x7c)
	set(table, math.Inf(-1), 0xfc)
	return set(table, math.NaN(), 0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff)
}

// powers lists the values of E8M0, powers of two without a sign.
func powers() []float32 {
	table := make([]float32, 256)
	for code := range table {
		table[code] = float32(math.Ldexp(1, code-127))
	}
	return set(table, math.NaN(), 0xff)
}

func decodeF64(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func decodeF32(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float16.Frombits(binary.LittleEndian.Uint16(src[2*i:])).Float32()
	}
}

func decodeBF16(dst []float32, src []byte, _ int) { quant.FromBF16s(dst, src) }

func decodeBool(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(min(src[i], 1))
	}
}

func decodeU8(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(src[i])
	}
}

func decodeI8(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(int8(src[i]))
	}
}

func decodeU16(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func decodeI16(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

func decodeU32(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeI32(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(int32(binary.LittleEndian.Uint32(src[4*i:])))
	}
}

func decodeU64(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(binary.LittleEndian.Uint64(src[8*i:]))
	}
}

func decodeI64(dst []float32, src []byte, _ int) {
	for i := range dst {
		dst[i] = float32(int64(binary.LittleEndian.Uint64(src[8*i:])))
	}
}
