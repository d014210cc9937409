package main

// The EVEX instructions of AVX512_BF16, which cmd/asm does not know: of map
// 0F38, W0, on 512 bits.
const (
	vdpbf16ps      = "VDPBF16PS"      // d += the products of pairs of n and m
	vcvtneps2bf16  = "VCVTNEPS2BF16"  // half of d = m rounded; n is 0
	vcvtne2ps2bf16 = "VCVTNE2PS2BF16" // d = m, then n, rounded
)

// evex writes one of them on registers d, n and m: in the manual's order too.
func (s *source) evex(name string, d, n, m int) {
	opcode, prefix := byte(0x72), byte(2) // F3
	switch name {
	case vdpbf16ps:
		opcode = 0x52
	case vcvtne2ps2bf16:
		prefix = 3 // F2
	}
	not := func(register, bit int) byte { return byte(^register>>bit) & 1 }
	p0 := not(d, 3)<<7 | not(m, 4)<<6 | not(m, 3)<<5 | not(d, 4)<<4 | 2
	p1 := byte(^n&15)<<3 | 4 | prefix
	p2 := byte(2<<5) | not(n, 4)<<3
	s.op("BYTE $0x62; BYTE $0x%02x; BYTE $0x%02x; BYTE $0x%02x; BYTE $0x%02x; BYTE $0x%02x // %s Z%d, Z%d, Z%d",
		p0, p1, p2, opcode, 0xc0|byte(d&7)<<3|byte(m&7), name, m, n, d)
}
