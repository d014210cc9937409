package gguf

import "encoding/binary"

// The K types have superblocks of 256: a scale in f16, and small scales of 16 or 32 values that it multiplies.

// decodeQ2_K: 16 pairs of a scale and a least value, then codes, then the scales of both.
func decodeQ2_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[84:] {
		scales, codes, d, least := src[:16], src[16:80], half(src[80:]), half(src[82:])
		for i := range 16 { // groups of 16 values
			dl, ml := d*float32(low(scales[i])), least*float32(high(scales[i]))
			at, shift := codes[i/8*32+i%2*16:], i%8/2*2
			for j := range 16 {
				dst[16*i+j] = float32(dl*float32(at[j]>>shift&3)) - ml
			}
		}
	}
}

// decodeQ3_K: codes' third bits, codes, 16 scales of 6 bits less 32, and their scale.
func decodeQ3_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[110:] {
		third, codes, scales, d := src[:32], src[32:96], src[96:108], half(src[108:])
		for i := range 16 {
			s := scales[i%8] >> (i / 8 * 4) & 15
			s |= scales[8+i%4] >> (i / 4 * 2) & 3 << 4
			dl := d * float32(int(s)-32)
			at, bits, shift := codes[i/8*32+i%2*16:], third[i%2*16:], i%8/2*2
			for j := range 16 {
				q := int(at[j] >> shift & 3)
				if bits[j]>>(i/2)&1 == 0 {
					q -= 4
				}
				dst[16*i+j] = dl * float32(q)
			}
		}
	}
}

// pair returns scale i and least value i of the 8 that Q4_K and Q5_K have, of 6 bits each.
func pair(b []byte, i int) (scale, least float32) {
	if i < 4 {
		return float32(b[i] & 63), float32(b[i+4] & 63)
	}
	return float32(b[i+4]&15 | b[i-4]>>6<<4), float32(b[i+4]>>4 | b[i]>>6<<4)
}

func decodeQ4_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[144:] {
		d, least, scales, codes := half(src), half(src[2:]), src[4:16], src[16:144]
		for i := range 8 { // groups of 32 values
			s, m := pair(scales, i)
			dl, ml := d*s, least*m
			at, shift := codes[i/2*32:], i%2*4
			for j := range 32 {
				dst[32*i+j] = float32(dl*float32(at[j]>>shift&15)) - ml
			}
		}
	}
}

func decodeQ5_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[176:] {
		d, least, scales, fifth, codes := half(src), half(src[2:]), src[4:16], src[16:48], src[48:176]
		for i := range 8 {
			s, m := pair(scales, i)
			dl, ml := d*s, least*m
			at, shift := codes[i/2*32:], i%2*4
			for j := range 32 {
				q := at[j]>>shift&15 | fifth[j]>>i&1<<4
				dst[32*i+j] = float32(dl*float32(q)) - ml
			}
		}
	}
}

// decodeQ6_K: codes' low four bits, their high two, 16 scales, and the scale of these.
func decodeQ6_K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[210:] {
		lows, highs, scales, d := src[:128], src[128:192], src[192:208], half(src[208:])
		for i := range 16 {
			dl := d * float32(int8(scales[i]))
			run, part := i%8/2, i%2*16 // which 32 of a half's 128, and which 16 of these
			at, bits := lows[i/8*64+run%2*32+part:], highs[i/8*32+part:]
			for j := range 16 {
				q := at[j]>>(run/2*4)&15 | bits[j]>>(run*2)&3<<4
				dst[16*i+j] = dl * float32(int(q)-32)
			}
		}
	}
}

// decodeIQ4_XS: the high two bits of 8 scales less 32, their low four, codes.
func decodeIQ4_XS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[136:] {
		d, highs := half(src), binary.LittleEndian.Uint16(src[2:])
		for i := range 8 {
			s := int(src[4+i/2])>>(i%2*4)&15 | int(highs>>(2*i)&3)<<4
			byTable(dst[32*i:], src[8+16*i:24+16*i], &denser, d*float32(s-32))
		}
	}
}
