package main

import "fmt"

// mulAMD64 writes the tile functions and the sums of segments.
func mulAMD64(s *source) {
	for _, w4 := range []bool{true, false} {
		avx512Tile{source: s, w4: w4}.function()
		avx2Tile{source: s, w4: w4}.function()
	}
	sumsAVX2(s)
	peaks(s)
	pause(s, "PAUSE")
}

// tileParam is the argument of all tile functions. Fields are read from AX.
var tileParam = param{"t", "*tile"}

// dispatch jumps to the label of the tile's number of rows, 1 to most.
func dispatch(s *source, most int) {
	s.op("MOVQ t+0(FP), AX")
	s.op("MOVQ tile_rows(AX), CX")
	for rows := 1; rows < most; rows++ {
		s.op("CMPQ CX, $%d", rows)
		s.op("JEQ %s", s.at(fmt.Sprint("rows", rows)))
	}
}

// encoding returns an encoding's name in functions' names, and the bytes of a
// row of x in a step.
func encoding(w4 bool) (string, int) {
	if w4 {
		return "W4", 8
	}
	return "W8", 4
}

// peaks writes loops of nothing but the instructions that tile functions multiply with.
func peaks(s *source) {
	loop := func(name, doc string, body func()) {
		s.function(name, doc, param{"n", "int"})
		s.op("MOVQ n+0(FP), CX")
		s.label("loop")
		body()
		s.op("DECQ CX")
		s.op("JNZ %s", s.at("loop"))
		s.op("VZEROUPPER")
		s.op("RET")
	}
	loop("peakAVX512", "runs n times 24 VPDPBUSD.", func() {
		for i := range 24 {
			s.op("VPDPBUSD Z30, Z31, Z%d", i)
		}
	})
	loop("peakAVX2", "runs n times 12 VPMADDUBSW with as many VPADDW.", func() {
		for i := range 12 {
			s.op("VPMADDUBSW Y14, Y15, Y13")
			s.op("VPADDW Y13, Y%d, Y%d", i, i)
		}
	})
}

// pause writes the function that tells the processor that a thread looks for work.
func pause(s *source, instruction string) {
	s.function("pause", "takes a moment in which other threads of the core have it for themselves.")
	s.op(instruction)
	s.op("RET")
}
