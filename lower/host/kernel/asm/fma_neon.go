package main

// fmaARM64 writes products of floats and what attention takes besides.
func fmaARM64(s *source) {
	n := neon{s}
	n.gemm()
	n.weigh()
	n.packKeys()
	n.packValues()
	n.scale()
	peakARM64(s, "FMA", "FMLA", func(sum int) { s.op("VFMLA V30.S4, V31.S4, V%d.S4", sum) })
}

// A neon writes for the 128-bit registers that every arm64 has.
type neon struct{ *source }

// constant sets all lanes of a register to bits.
func (n neon) constant(register int, bits uint32) {
	n.op("MOVD $0x%08x, R16", bits)
	n.op("VDUP R16, V%d.S4", register)
}

func (n neon) zero(register int) {
	n.op("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", register)
}

// scale multiplies a row by a factor. No zero has a sign.
func (n neon) scale() {
	n.function("scaleNeon", "sets n numbers to src*factor.", param{"dst", "*float32"}, param{"src", "*float32"}, param{"factor", "float32"}, param{"n", "int"})
	n.op("MOVD dst+0(FP), R0")
	n.op("MOVD src+8(FP), R1")
	n.op("FMOVS factor+16(FP), F1")
	n.op("MOVD n+24(FP), R2")
	n.op("SUBS $4, R2")
	n.op("BLT %s", n.at("rest"))
	n.label("loop")
	n.op("FMOVQ.P 16(R1), F0")
	n.zero(2)
	n.laneWord("FMLA", 2, 0, 1, 0)
	n.op("FMOVQ.P F2, 16(R0)")
	n.op("SUBS $4, R2")
	n.op("BGE %s", n.at("loop"))
	n.label("rest")
	n.op("ADDS $4, R2")
	n.op("BEQ %s", n.at("end"))
	n.label("one")
	n.op("FMOVS.P 4(R1), F0")
	n.zero(2)
	n.laneWord("FMLA", 2, 0, 1, 0)
	n.op("FMOVS.P F2, 4(R0)")
	n.op("SUBS $1, R2")
	n.op("BNE %s", n.at("one"))
	n.label("end")
	n.op("RET")
}
