package main

import "fmt"

// An avx512Tile has all sums of rows x 32 columns in registers.
//
//	Z0-Z11   sums of a segment, int32: row r has Z2r and Z2r+1, of 16 columns each
//	Z12-Z23  sums of segments, f32, in the same order
//	Z24-Z27  codes of a step: k 0-3, then 4-7 (w4), of 32 columns; scales
//	Z31      0x0f in each byte
//	SI DI    rows 0 and 3 of x, BX bytes apart; CX codes, DX scales, R8 corr
//	R9 R10   segments and steps to go
//	R11      codes to have in cache soon
//	R12 R13  scales of rows 0 and 3; R15 segments of the block to go
type avx512Tile struct {
	*source
	w4   bool
	rows int
}

// unrolled is how many steps are 32 k.
func (t avx512Tile) unrolled() int {
	_, bytes := encoding(t.w4)
	return 32 / bytes
}

func (t avx512Tile) function() {
	name, _ := encoding(t.w4)
	t.source.function("mul"+name+"AVX512", "is the tile function of "+name+" for AVX-512 VNNI.", tileParam)
	dispatch(t.source, 6)
	for rows := 6; rows > 0; rows-- {
		t.rows = rows
		t.body()
	}
}

func (t avx512Tile) at(name string) string {
	return t.source.at(fmt.Sprintf("rows%d%s", t.rows, name))
}

func (t avx512Tile) label(name string) { t.op("%s:", t.at(name)) }

// row is the address of a row, off bytes from where a pair of registers points.
func (t avx512Tile) row(row0, row3 string, r, off int) string {
	base := row0
	if r >= 3 {
		base = row3
	}
	if r%3 == 0 {
		return fmt.Sprintf("%d(%s)", off, base)
	}
	return fmt.Sprintf("%d(%s)(BX*%d)", off, base, r%3)
}

// each emits an instruction for each register of a row's sums.
func (t avx512Tile) each(f func(r, n int)) {
	for r := range t.rows {
		f(r, 2*r)
		f(r, 2*r+1)
	}
}

func (t avx512Tile) body() {
	t.label("")
	t.start()
	t.label("segment")
	for r := range t.rows {
		t.op("VPBROADCASTD %d(R8), Z%d", 4*r, 2*r)
		t.op("VMOVDQA32 Z%d, Z%d", 2*r, 2*r+1)
	}
	t.op("ADDQ tile_corrStride(AX), R8")
	t.op("MOVQ tile_steps(AX), R10")
	t.steps()
	t.scale()
	t.finish()
}

func (t avx512Tile) start() {
	t.op("MOVQ tile_x(AX), SI")
	t.op("MOVQ tile_stride(AX), BX")
	t.op("LEAQ (SI)(BX*2), DI")
	t.op("ADDQ BX, DI")
	t.op("MOVQ tile_scaleAt(AX), R12")
	t.op("LEAQ (DI)(R12*1), R13")
	t.op("ADDQ SI, R12")
	t.op("MOVQ tile_codes(AX), CX")
	t.op("MOVQ tile_ahead(AX), R11")
	t.op("MOVQ tile_scales(AX), DX")
	t.op("MOVQ tile_corr(AX), R8")
	t.op("MOVQ tile_segments(AX), R9")
	t.op("MOVQ tile_perBlock(AX), R15")
	if t.w4 {
		t.op("MOVL $0x0f0f0f0f, R10")
		t.op("VPBROADCASTD R10, Z31")
	}
	t.each(func(_, n int) { t.op("VPXORD Z%d, Z%d, Z%d", 12+n, 12+n, 12+n) })
}

// steps adds the products of a segment.
func (t avx512Tile) steps() {
	n := t.unrolled()
	t.op("SUBQ $%d, R10", n)
	t.op("JLT %s", t.at("rest"))
	t.label("steps")
	for i := range n {
		t.step(i)
	}
	t.advance(n)
	t.op("SUBQ $%d, R10", n)
	t.op("JGE %s", t.at("steps"))
	t.label("rest")
	t.op("ADDQ $%d, R10", n)
	t.op("JZ %s", t.at("scale"))
	t.label("step")
	t.step(0)
	t.advance(1)
	t.op("DECQ R10")
	t.op("JNZ %s", t.at("step"))
}

func (t avx512Tile) advance(steps int) {
	_, bytes := encoding(t.w4)
	t.op("ADDQ $%d, CX", 128*steps)
	t.op("ADDQ $%d, SI", bytes*steps)
	t.op("ADDQ $%d, DI", bytes*steps)
}

// step adds the products of step i from where CX, SI and DI point.
func (t avx512Tile) step(i int) {
	_, bytes := encoding(t.w4)
	if t.rows > 1 {
		t.op("PREFETCHT1 (R11)")
		t.op("PREFETCHT1 64(R11)")
		t.op("ADDQ tile_pace(AX), R11")
	}
	for n := range 2 {
		t.op("VMOVDQU64 %d(CX), Z%d", 128*i+64*n, 24+n)
		if t.w4 {
			t.op("VPSRLW $4, Z%d, Z%d", 24+n, 26+n)
			t.op("VPANDD Z31, Z%d, Z%d", 24+n, 24+n)
			t.op("VPANDD Z31, Z%d, Z%d", 26+n, 26+n)
		}
	}
	for k := 0; k < bytes; k += 4 {
		t.each(func(r, n int) {
			t.op("VPDPBUSD.BCST %s, Z%d, Z%d", t.row("SI", "DI", r, bytes*i+k), 24+k/2+n%2, n)
		})
	}
}

// scale adds a segment's sums, times scales.
func (t avx512Tile) scale() {
	t.label("scale")
	t.op("VCVTPH2PS (DX), Z24")
	t.op("VCVTPH2PS 32(DX), Z25")
	t.op("ADDQ tile_next(AX), DX")
	t.op("CMPQ tile_perBlock(AX), $0")
	t.op("JNE %s", t.at("block"))
	t.each(func(_, n int) { t.op("VCVTDQ2PS Z%d, Z%d", n, n) })
	t.each(func(_, n int) { t.op("VFMADD231PS Z%d, Z%d, Z%d", n, 24+n%2, 12+n) })
	t.op("DECQ R9")
	t.op("JNZ %s", t.at("segment"))
	t.each(func(r, n int) { t.op("VMULPS.BCST %s, Z%d, Z%d", t.row("R12", "R13", r, 0), 12+n, 12+n) })
	t.op("JMP %s", t.at("finish"))

	t.label("block")
	t.each(func(_, n int) { t.op("VCVTDQ2PS Z%d, Z%d", n, n) })
	t.each(func(_, n int) { t.op("VMULPS Z%d, Z%d, Z%d", 24+n%2, n, n) })
	t.each(func(r, n int) { t.op("VFMADD231PS.BCST %s, Z%d, Z%d", t.row("R12", "R13", r, 0), n, 12+n) })
	t.op("DECQ R15")
	t.op("JNZ %s", t.at("within"))
	t.op("ADDQ $4, R12")
	t.op("ADDQ $4, R13")
	t.op("MOVQ tile_perBlock(AX), R15")
	t.label("within")
	t.op("DECQ R9")
	t.op("JNZ %s", t.at("segment"))
}

// finish multiplies by the factor and stores.
func (t avx512Tile) finish() {
	t.label("finish")
	t.op("VBROADCASTSS tile_factor(AX), Z24")
	t.op("MOVQ tile_dst(AX), DI")
	for r := range t.rows {
		for n := 2 * r; n < 2*r+2; n++ {
			t.op("VMULPS Z24, Z%d, Z%d", 12+n, 12+n)
			t.op("VMOVUPS Z%d, %d(DI)", 12+n, n%2*64)
		}
		if r < t.rows-1 {
			t.op("ADDQ tile_dstStride(AX), DI")
		}
	}
	t.op("VZEROUPPER")
	t.op("RET")
}
