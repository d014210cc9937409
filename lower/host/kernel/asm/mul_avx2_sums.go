package main

// sumsAVX2 writes what sums segments of four rows. Bytes have 128 added, for
// VPSADBW takes them without sign. Rows that are missing are the last one again.
//
//	Y0-Y3    sums of rows, four int64 each
//	Y13 Y14  128 in each of four bytes, and in each of all; Y15 zero
//	X11 X12  128 times the bytes of a segment; the zero point
//	SI DI R10 R11  rows of x; DX where they are; CX bytes of the segment to go
//	R8 corr; R9 segments to go
func sumsAVX2(s *source) {
	rows := []string{"SI", "DI", "R10", "R11"}
	s.function("sumsAVX2", "sets corr of four rows.", tileParam)
	s.op("MOVQ t+0(FP), AX")
	s.op("MOVQ tile_rows(AX), CX")
	s.op("MOVQ tile_x(AX), SI")
	s.op("MOVQ tile_stride(AX), BX")
	for r := 1; r < 4; r++ {
		s.op("LEAQ (%s)(BX*1), %s", rows[r-1], rows[r])
		s.op("CMPQ CX, $%d", r)
		s.op("CMOVQLE %s, %s", rows[r-1], rows[r])
	}
	s.op("MOVQ tile_corr(AX), R8")
	s.op("MOVQ tile_segments(AX), R9")
	s.op("MOVL $0x80808080, DX")
	s.op("VMOVD DX, X13")
	s.op("VPBROADCASTD X13, Y14")
	s.op("VPXOR Y15, Y15, Y15")
	s.op("VPBROADCASTD tile_segment(AX), X11")
	s.op("VPSLLD $7, X11, X11")
	s.op("VPBROADCASTD tile_zero(AX), X12")
	s.op("XORQ DX, DX")
	s.label("segment")
	s.op("MOVQ tile_segment(AX), CX")
	for r := range rows {
		s.op("VPXOR Y%d, Y%d, Y%d", r, r, r)
	}
	s.op("SUBQ $32, CX")
	s.op("JLT %s", s.at("rest"))
	s.label("bytes32")
	for r, x := range rows {
		s.op("VPXOR (%s)(DX*1), Y14, Y4", x)
		s.op("VPSADBW Y15, Y4, Y4")
		s.op("VPADDQ Y4, Y%d, Y%d", r, r)
	}
	s.op("ADDQ $32, DX")
	s.op("SUBQ $32, CX")
	s.op("JGE %s", s.at("bytes32"))
	s.label("rest")
	s.op("ADDQ $32, CX")
	s.op("JZ %s", s.at("add"))
	s.label("bytes4")
	for r, x := range rows {
		s.op("VMOVD (%s)(DX*1), X4", x)
		s.op("VPXOR X13, X4, X4")
		s.op("VPSADBW X15, X4, X4")
		s.op("VPADDQ Y4, Y%d, Y%d", r, r)
	}
	s.op("ADDQ $4, DX")
	s.op("SUBQ $4, CX")
	s.op("JNZ %s", s.at("bytes4"))
	s.label("add")
	for r := 0; r < 4; r += 2 { // two sums of each of two rows, by turns
		s.op("VPUNPCKLQDQ Y%d, Y%d, Y4", r+1, r)
		s.op("VPUNPCKHQDQ Y%d, Y%d, Y5", r+1, r)
		s.op("VPADDQ Y4, Y5, Y%d", r)
	}
	s.op("VSHUFPS $0x88, Y2, Y0, Y0") // their low words, of four rows
	s.op("VEXTRACTI128 $1, Y0, X1")
	s.op("VPADDD X1, X0, X0")
	s.op("VPSUBD X0, X11, X0")
	s.op("VPMULLD X12, X0, X0")
	s.op("VMOVDQU X0, (R8)")
	s.op("ADDQ tile_corrStride(AX), R8")
	s.op("DECQ R9")
	s.op("JNZ %s", s.at("segment"))
	s.op("VZEROUPPER")
	s.op("RET")
}
