package main

import "strings"

// sumsNeon writes the function that sets corr.
func sumsNeon(s *source) {
	s.function("sumsNeon", "sets corr.", param{"t", "*tile"})
	s.op("MOVD t+0(FP), R0")
	for i, name := range strings.Fields("x corr corrStride rows segment zero stride") {
		s.op("MOVD tile_%s(R0), R%d", name, i+1)
	}
	s.op("NEG R6, R6")
	s.label("row")
	s.op("MOVD R1, R8")
	s.op("MOVD R2, R9")
	s.op("MOVD tile_segments(R0), R10")
	s.label("segment")
	s.op("VEOR V0.B16, V0.B16, V0.B16")
	add := func(load string) {
		s.op("%s(R8), F1", load)
		s.word("SADDLP.16B", 1, 1)
		s.word("SADALP.8H", 0, 1)
	}
	s.op("SUBS $16, R5, R11")
	s.op("BLT %s", s.at("rest"))
	s.label("sixteen")
	add("FMOVQ.P 16")
	s.op("SUBS $16, R11")
	s.op("BGE %s", s.at("sixteen"))
	s.label("rest")
	s.op("TBZ $3, R11, %s", s.at("four"))
	add("FMOVD.P 8")
	s.label("four")
	s.op("TBZ $2, R11, %s", s.at("summed"))
	add("FMOVS.P 4")
	s.label("summed")
	s.op("VADDV V0.S4, V0")
	s.op("FMOVS F0, R11")
	s.op("MULW R6, R11")
	s.op("MOVW R11, (R9)")
	s.op("ADD R3, R9")
	s.op("SUBS $1, R10")
	s.op("BNE %s", s.at("segment"))
	s.op("ADD R7, R1")
	s.op("ADD $4, R2")
	s.op("SUBS $1, R4")
	s.op("BNE %s", s.at("row"))
	s.op("RET")
}

// peakARM64 writes a loop of 24 of what the tile functions multiply with.
func peakARM64(s *source, set, instruction string, multiply func(sum int)) {
	s.function("peak"+set, "runs n times 24 "+instruction+".", param{"n", "int"})
	s.op("MOVD n+0(FP), R0")
	s.label("loop")
	for sum := range 24 {
		multiply(sum)
	}
	s.op("SUBS $1, R0")
	s.op("BNE %s", s.at("loop"))
	s.op("RET")
}
