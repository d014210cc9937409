package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"estream/ir/quant"
)

// Decoders fill dst from whole blocks. Where ggml rounds a product before it adds, a conversion to float32 keeps the
// compiler from fusing the two. The layouts are those of ggml's ggml-common.h and ggml-quants.c.

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = quant.FromBF16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func half(b []byte) float32 { return quant.FromF16(binary.LittleEndian.Uint16(b)) }

// low and high are the codes of a byte.
func low(b byte) int  { return int(b & 15) }
func high(b byte) int { return int(b >> 4) }

// decodeQ4_0: a scale, then codes less 8; those of the first half are in the low bits, as in all types of 32.
func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[18:] {
		d := half(src)
		for i, b := range src[2:18] {
			dst[i], dst[16+i] = float32(low(b)-8)*d, float32(high(b)-8)*d
		}
	}
}

// codesQ4_0 takes blocks apart.
func codesQ4_0(codes []int8, scales []uint16, src []byte) error {
	for i := 0; len(codes) > 0; codes, src, i = codes[32:], src[18:], i+1 {
		if scales[i] = binary.LittleEndian.Uint16(src); scales[i]&0x7c00 == 0x7c00 {
			return fmt.Errorf("a scale is %v", half(src))
		}
		for i, b := range src[2:18] {
			codes[i], codes[16+i] = int8(low(b)-8), int8(high(b)-8)
		}
	}
	return nil
}

// decodeQ4_1: a scale and a least value.
func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[20:] {
		d, m := half(src), half(src[2:])
		for i, b := range src[4:20] {
			dst[i], dst[16+i] = float32(float32(low(b))*d)+m, float32(float32(high(b))*d)+m
		}
	}
}

// fifth returns bits i and 16+i of the codes' fifth bits, as the codes have them.
func fifth(bits uint32, i int) (first, second int) {
	return int(bits>>i) << 4 & 16, int(bits>>(i+12)) & 16
}

func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[22:] {
		d, bits := half(src), binary.LittleEndian.Uint32(src[2:])
		for i, b := range src[6:22] {
			x, y := fifth(bits, i)
			dst[i], dst[16+i] = float32((low(b)|x)-16)*d, float32((high(b)|y)-16)*d
		}
	}
}

func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[24:] {
		d, m, bits := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:])
		for i, b := range src[8:24] {
			x, y := fifth(bits, i)
			dst[i], dst[16+i] = float32(float32(low(b)|x)*d)+m, float32(float32(high(b)|y)*d)+m
		}
	}
}

func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[34:] {
		d := half(src)
		for i, b := range src[2:34] {
			dst[i] = float32(int8(b)) * d
		}
	}
}

// denser are what the codes of IQ4 types stand for: they lie denser around zero.
var denser = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func decodeIQ4_NL(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[18:] {
		byTable(dst, src[2:18], &denser, half(src))
	}
}

// decodeMXFP4: the scale is a power of two, of twice the E2M1 values.
func decodeMXFP4(dst []float32, src []byte) {
	table := [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
	for ; len(dst) > 0; dst, src = dst[32:], src[17:] {
		byTable(dst, src[1:17], &table, float32(math.Ldexp(1, int(src[0])-128)))
	}
}

func byTable(dst []float32, codes []byte, table *[16]float32, d float32) {
	for i, b := range codes {
		dst[i], dst[16+i] = table[low(b)]*d, table[high(b)]*d
	}
}
