package main

import "fmt"

// An avx2Tile computes a chunk of steps for 16 columns, then for the other 16.
// Sums of a segment are in scratch from chunk to chunk, those of segments in dst.
//
//	Y0-Y7    sums: row r has Y2r and Y2r+1, of 8 columns each
//	Y8-Y11   codes of a step; Y12 x; Y13 products; Y8 Y9 scales
//	SI       row 0 of x, rows BX bytes apart, 3BX is R11; CX codes, DX scales, R8 corr
//	R9 R10   segments and steps to go; R14 steps to go at the start of a chunk
//	R12      0 or 32, the first column
//	R13      scales of row 0; R15 segments of the block to go
//	DI       scratch or a row of dst
//
// Sums of w4 are pairs of int16: products of 15 and 128 fit 16 times, which is
// four steps. Y14 has 15 in each byte.
//
// Codes of w8 are taken with their sign, which goes to x, for VPMADDUBSW wants its
// other operand without: |w| * x*sign(w). Y14 has 128 in each byte.
type avx2Tile struct {
	*source
	w4   bool
	rows int
}

// chunk is the most steps of a chunk, a power of two.
func (t avx2Tile) chunk() int {
	if t.w4 {
		return 4
	}
	return 16
}

func (t avx2Tile) function() {
	name, _ := encoding(t.w4)
	t.source.function("mul"+name+"AVX2", "is the tile function of "+name+" for AVX2.", tileParam)
	dispatch(t.source, 4)
	for rows := 4; rows > 0; rows-- {
		t.rows = rows
		t.body()
	}
}

func (t avx2Tile) at(name string) string {
	return t.source.at(fmt.Sprintf("rows%d%s", t.rows, name))
}

func (t avx2Tile) label(name string) { t.op("%s:", t.at(name)) }

// row is the address of a row, off bytes from where a register points.
func (t avx2Tile) row(row0 string, r, off int) string {
	return fmt.Sprintf("%d(%s)", off, row0) + [...]string{"", "(BX*1)", "(BX*2)", "(R11*1)"}[r]
}

// each emits an instruction for each register of sums.
func (t avx2Tile) each(f func(n int)) {
	for n := range 2 * t.rows {
		f(n)
	}
}

// dst emits instructions for each row of dst, at DI.
func (t avx2Tile) dst(f func(r int)) {
	t.op("MOVQ tile_dst(AX), DI")
	for r := range t.rows {
		f(r)
		if r < t.rows-1 {
			t.op("ADDQ tile_dstStride(AX), DI")
		}
	}
}

func (t avx2Tile) body() {
	t.label("")
	t.start()
	t.label("segment")
	t.clear()
	t.op("MOVQ tile_steps(AX), R10")
	t.label("chunk")
	t.op("MOVQ R10, R14")
	t.label("half")
	t.each(func(n int) { t.op("VPXOR Y%d, Y%d, Y%d", n, n, n) })
	t.label("step")
	if t.w4 {
		t.stepW4()
	} else {
		t.stepW8()
	}
	t.addChunk()
	t.addSegment()
	t.nextHalf()
	t.nextSegment()
	t.finish()
}

func (t avx2Tile) start() {
	t.op("MOVQ tile_x(AX), SI")
	t.op("MOVQ tile_stride(AX), BX")
	t.op("LEAQ (BX)(BX*2), R11")
	t.op("MOVQ tile_scaleAt(AX), R13")
	t.op("ADDQ SI, R13")
	t.op("MOVQ tile_codes(AX), CX")
	t.op("MOVQ tile_scales(AX), DX")
	t.op("MOVQ tile_corr(AX), R8")
	t.op("MOVQ tile_segments(AX), R9")
	t.op("MOVQ tile_perBlock(AX), R15")
	t.op("XORQ R12, R12")
	t.op("MOVL $0x%x, R10", map[bool]int{true: 0x0f0f0f0f, false: 0x80808080}[t.w4])
	t.op("VMOVD R10, X14")
	t.op("VPBROADCASTD X14, Y14")
	t.op("VPCMPEQW Y15, Y15, Y15")
	t.op("VPSRLW $15, Y15, Y15")
	t.op("VPXOR Y0, Y0, Y0")
	t.dst(func(int) {
		for c := range 4 {
			t.op("VMOVUPS Y0, %d(DI)", 32*c)
		}
	})
}

// clear sets a segment's sums in scratch, [halves][8][8], to corr: 0 with signed codes.
func (t avx2Tile) clear() {
	t.op("MOVQ tile_scratch(AX), DI")
	t.op("VPXOR Y0, Y0, Y0")
	for n := range 2 * t.rows {
		if t.w4 && n%2 == 0 {
			t.op("VPBROADCASTD %d(R8), Y0", 2*n)
		}
		t.op("VMOVDQU Y0, %d(DI)", 32*n)
		t.op("VMOVDQU Y0, %d(DI)", 32*n+256)
	}
}

func (t avx2Tile) stepW4() {
	for n := range 2 {
		t.op("VMOVDQU %d(CX)(R12*2), Y%d", 32*n, 8+n)
		t.op("VPSRLW $4, Y%d, Y%d", 8+n, 10+n)
		t.op("VPAND Y14, Y%d, Y%d", 8+n, 8+n)
		t.op("VPAND Y14, Y%d, Y%d", 10+n, 10+n)
	}
	for k := 0; k < 8; k += 4 {
		for r := range t.rows {
			t.op("VPBROADCASTD %s, Y12", t.row("SI", r, k))
			for n := range 2 {
				t.op("VPMADDUBSW Y12, Y%d, Y13", 8+k/2+n)
				t.op("VPADDW Y13, Y%d, Y%d", 2*r+n, 2*r+n)
			}
		}
	}
}

func (t avx2Tile) stepW8() {
	for n := range 2 {
		t.op("VPXOR %d(CX)(R12*2), Y14, Y%d", 32*n, 8+n)
		t.op("VPABSB Y%d, Y%d", 8+n, 10+n)
	}
	for r := range t.rows {
		t.op("VPBROADCASTD %s, Y12", t.row("SI", r, 0))
		for n := range 2 {
			t.op("VPSIGNB Y%d, Y12, Y13", 8+n)
			t.op("VPMADDUBSW Y13, Y%d, Y13", 10+n)
			t.op("VPMADDWD Y15, Y13, Y13")
			t.op("VPADDD Y13, Y%d, Y%d", 2*r+n, 2*r+n)
		}
	}
}

// addChunk ends the loop of steps, which is at a multiple of chunk from the
// segment's end, and adds scratch to the sums; unless the segment ends, they stay there.
func (t avx2Tile) addChunk() {
	_, bytes := encoding(t.w4)
	t.op("PREFETCHT1 8192(CX)(R12*2)")
	t.op("ADDQ $128, CX")
	t.op("ADDQ $%d, SI", bytes)
	t.op("DECQ R10")
	t.op("TESTQ $%d, R10", t.chunk()-1)
	t.op("JNZ %s", t.at("step"))
	t.op("MOVQ tile_scratch(AX), DI")
	t.op("LEAQ (DI)(R12*8), DI")
	t.each(func(n int) {
		if t.w4 {
			t.op("VPMADDWD Y15, Y%d, Y%d", n, n)
		}
		t.op("VPADDD %d(DI), Y%d, Y%d", 32*n, n, n)
	})
	t.op("TESTQ R10, R10")
	t.op("JZ %s", t.at("scale"))
	t.each(func(n int) { t.op("VMOVDQU Y%d, %d(DI)", n, 32*n) })
	t.op("JMP %s", t.at("next"))
}

// addSegment adds a segment's sums, times scales, to dst.
func (t avx2Tile) addSegment() {
	add := func(r int, scale func(n int) int) {
		for n := 2 * r; n < 2*r+2; n++ {
			t.op("VFMADD213PS %d(DI)(R12*2), Y%d, Y%d", n%2*32, scale(n), n)
			t.op("VMOVUPS Y%d, %d(DI)(R12*2)", n, n%2*32)
		}
	}
	t.label("scale")
	t.op("VCVTPH2PS (DX)(R12*1), Y8")
	t.op("VCVTPH2PS 16(DX)(R12*1), Y9")
	t.each(func(n int) { t.op("VCVTDQ2PS Y%d, Y%d", n, n) })
	t.op("CMPQ tile_perBlock(AX), $0")
	t.op("JNE %s", t.at("block"))
	t.dst(func(r int) { add(r, func(n int) int { return 8 + n%2 }) })
	t.op("JMP %s", t.at("next"))
	t.label("block")
	t.each(func(n int) { t.op("VMULPS Y%d, Y%d, Y%d", 8+n%2, n, n) })
	t.dst(func(r int) {
		t.op("VBROADCASTSS %s, Y12", t.row("R13", r, 0))
		add(r, func(int) int { return 12 })
	})
}

// nextHalf goes back to the start of the chunk for the other half, or on to the next chunk.
func (t avx2Tile) nextHalf() {
	_, bytes := encoding(t.w4)
	t.label("next")
	t.op("XORQ $32, R12")
	t.op("JZ %s", t.at("both"))
	t.op("SUBQ R14, R10")
	t.op("LEAQ (SI)(R10*%d), SI", bytes)
	t.op("SHLQ $7, R10")
	t.op("ADDQ R10, CX")
	t.op("MOVQ R14, R10")
	t.op("JMP %s", t.at("half"))
	t.label("both")
	t.op("TESTQ R10, R10")
	t.op("JNZ %s", t.at("chunk"))
}

func (t avx2Tile) nextSegment() {
	t.op("ADDQ tile_next(AX), DX")
	t.op("ADDQ tile_corrStride(AX), R8")
	t.op("DECQ R15")
	t.op("JNZ %s", t.at("within"))
	t.op("ADDQ $4, R13")
	t.op("MOVQ tile_perBlock(AX), R15")
	t.label("within")
	t.op("DECQ R9")
	t.op("JNZ %s", t.at("segment"))
}

// finish multiplies dst by the row's scale, unless blocks have had theirs,
// and by the factor. Without blocks, R15 counts on below zero, and so R13 stays.
func (t avx2Tile) finish() {
	t.op("VBROADCASTSS tile_factor(AX), Y8")
	t.op("CMPQ tile_perBlock(AX), $0")
	t.op("JNE %s", t.at("factor"))
	t.dst(func(r int) {
		t.op("VBROADCASTSS %s, Y12", t.row("R13", r, 0))
		for c := range 4 {
			t.op("VMULPS %d(DI), Y12, Y%d", 32*c, c)
			t.op("VMOVUPS Y%d, %d(DI)", c, 32*c)
		}
	})
	t.label("factor")
	t.dst(func(int) {
		for c := range 4 {
			t.op("VMULPS %d(DI), Y8, Y%d", 32*c, c)
			t.op("VMOVUPS Y%d, %d(DI)", c, 32*c)
		}
	})
	t.op("VZEROUPPER")
	t.op("RET")
}
