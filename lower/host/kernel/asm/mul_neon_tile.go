package main

import "fmt"

// An armTile writes a tile function: 16 columns after 16, or 32 where their sums
// have room in registers. A quad is four columns. Sums of segments stand in
// memory as they do in registers, of the first 16 columns and 384 bytes later of
// the others; tile functions of unpacked codes go on with them, for they are
// called for parts of K.
//
//	R0      tile                R14  row scales, of the block
//	R1-R6   x, of each row      R15  segments left in the block
//	R7      codes               R16, R17  scratch
//	R8      scales              R19  bytes of dst in earlier columns
//	R9      corr                R20  stride
//	R10     sums of segments    R21  corrStride
//	R11     dstStride           R22  next
//	R12     segments left       R23  steps
//	R13     steps left          R24  perBlock
//	                            R25  bias
//
//	V0-V23  sums                V24-V27  x; sums of segments
//	V28-V31 codes; scales of 16 or 8 columns
type armTile struct {
	*source
	codes  armCodes
	signed bool // codes are made q, or are it, which needs no corr
	rows   int
	quads  int
	sums   armSums
}

// armSums are a segment's sums of products in one instruction set.
type armSums interface {
	wide() bool            // whether 32 columns have room
	start()                // begins a segment
	loop()                 // adds its steps
	step(bytes int)        // adds 8 bytes of each row, or 4
	finish()               // makes the sums float
	scale()                // multiplies them by the scales of rows, the first at R16
	groups() int           // of columns that have their scales in V28-V31 at a time
	group(g int) []int     // loads those, and returns the first of each four sums they belong to
	registers() (a, b int) // of all sums: from a to b-1
	row(r int) []int       // loads the sums of segments of a row, after those of all before it
}

// bias is the bits of 1.5*2**23: sums that start from it and stay below 2**22 are
// the bits of that number plus the sum, which takes less to make float than int32.
const bias = 0x4b400000

// function writes a function for least to most rows. That of unpacked codes takes
// how, the sum of bits: 1 the first segment has begun, 2 the last one does not
// end, 4 the sums are to be scaled and stored to dst; and bias, or 0 where sums may
// be larger.
func (t armTile) function(set string, least, most int, sums func(*armTile) armSums) {
	params := []param{{"t", "*tile"}, {"sums", "*tileSums"}}
	if t.codes == unpackedCodes {
		params = append(params, param{"how", "int"}, param{"bias", "int"})
	}
	t.source.function(fmt.Sprint("mul", t.codes, set), fmt.Sprintf("is a tile function of %d to %d rows.", least, most), params...)
	t.op("MOVD t+0(FP), R0")
	t.field("dstStride", 11)
	t.field("stride", 20)
	t.field("corrStride", 21)
	t.field("next", 22)
	t.field("steps", 23)
	t.field("perBlock", 24)
	t.field("rows", 16)
	t.op("MOVD ZR, R19")
	switch t.codes {
	case w4Codes:
		t.op("MOVD $%#x, R25", bias)
	case unpackedCodes:
		t.op("MOVD bias+24(FP), R25")
	}
	for t.rows = least; t.rows < most; t.rows++ {
		t.op("CMP $%d, R16", t.rows)
		t.op("BEQ %s", t.at("rows"))
	}
	for t.rows = most; t.rows >= least; t.rows-- {
		t.label("rows")
		t.sums = sums(&t)
		t.body()
	}
}

// field loads a field of the tile, of a slice its address.
func (t *armTile) field(name string, register int) { t.op("MOVD tile_%s(R0), R%d", name, register) }

// label and at have labels apart for each number of rows.
func (t *armTile) label(name string)     { t.source.label(fmt.Sprint(name, t.rows)) }
func (t *armTile) at(name string) string { return t.source.at(fmt.Sprint(name, t.rows)) }

func (t *armTile) body() {
	t.quads = 4
	if t.sums.wide() {
		t.quads = 8
	}
	t.label("columns")
	t.begin()
	t.label("segment")
	t.startOrGoOn()
	t.sums.loop()
	t.unlessEnded()
	t.sums.finish()
	t.scaleBlocks()
	t.addFloats()
	t.op("ADD R21, R9")
	t.op("ADD R22, R8")
	t.op("SUBS $1, R12")
	t.op("BNE %s", t.at("segment"))
	t.store()
	t.label("next")
	if t.quads == 4 {
		t.op("ADD $64, R19")
		t.op("CMP $128, R19")
		t.op("BNE %s", t.at("columns"))
	}
	t.op("RET")
}

// begin sets registers for the first segment of some columns.
func (t *armTile) begin() {
	t.field("x", 1)
	for r := 2; r <= t.rows; r++ {
		t.op("ADD R20, R%d, R%d", r-1, r)
	}
	t.field("codes", 7)
	t.op("ADD R19, R7")
	if t.codes == unpackedCodes {
		t.op("ADD R19, R7")
	}
	t.field("scales", 8)
	t.op("ADD R19>>1, R8")
	t.field("corr", 9)
	t.op("MOVD sums+8(FP), R10")
	t.op("ADD R19<<2, R10")
	t.op("ADD R19<<1, R10")
	t.field("segments", 12)
	t.field("scaleAt", 14)
	t.op("ADD R1, R14")
	t.op("MOVD R24, R15")
}

// startOrGoOn starts sums, or takes those of a part before and leaves zeros.
func (t *armTile) startOrGoOn() {
	if t.codes != unpackedCodes {
		t.sums.start()
		return
	}
	t.op("MOVD how+16(FP), R17")
	t.op("TBZ $0, R17, %s", t.at("start"))
	t.clear(31, 32)
	t.memory("FLDPQ %[3]d(R10), (F%[1]d, F%[2]d)")
	t.memory("FSTPQ (F31, F31), %[3]d(R10)")
	t.op("B %s", t.at("started"))
	t.label("start")
	t.sums.start()
	t.label("started")
}

// unlessEnded leaves sums to the next part, if their segment has not ended.
func (t *armTile) unlessEnded() {
	if t.codes != unpackedCodes {
		return
	}
	t.op("MOVD how+16(FP), R17")
	t.op("TBZ $1, R17, %s", t.at("ended"))
	t.memory("FSTPQ (F%d, F%d), %d(R10)")
	t.op("B %s", t.at("next"))
	t.label("ended")
}

// memory writes an instruction for each two sums and where they stand from R10 on.
func (t *armTile) memory(format string) {
	a, b := t.sums.registers()
	for v := a; v < b; v += 2 {
		t.op(format, v, v+1, 16*(v-a))
	}
}

// scaleBlocks multiplies sums by the scales of the rows' block, if there are blocks.
func (t *armTile) scaleBlocks() {
	t.op("CBZ R24, %s", t.at("floats"))
	t.op("MOVD R14, R16")
	t.sums.scale()
	t.op("SUBS $1, R15")
	t.op("BNE %s", t.at("floats"))
	t.op("ADD $4, R14")
	t.op("MOVD R24, R15")
	t.label("floats")
}

// addFloats adds the sums times the scales of the columns to those of segments.
func (t *armTile) addFloats() {
	origin, _ := t.sums.registers()
	for g := range t.sums.groups() {
		for _, v := range t.sums.group(g) {
			at := 16 * (v - origin)
			t.op("FLDPQ %d(R10), (F24, F25)", at)
			t.op("FLDPQ %d(R10), (F26, F27)", at+32)
			for i := range 4 {
				t.op("VFMLA V%d.S4, V%d.S4, V%d.S4", 28+i, v+i, 24+i)
			}
			t.op("FSTPQ (F24, F25), %d(R10)", at)
			t.op("FSTPQ (F26, F27), %d(R10)", at+32)
		}
	}
}

// store multiplies sums of segments by the scales of rows, if there are no blocks,
// and by factor, and stores them to dst.
func (t *armTile) store() {
	if t.codes == unpackedCodes {
		t.op("MOVD how+16(FP), R17")
		t.op("TBZ $2, R17, %s", t.at("next"))
	}
	t.op("MOVD $tile_factor(R0), R16")
	t.op("VLD1R (R16), [V31.S4]")
	t.field("dst", 16)
	t.op("ADD R19, R16")
	for r := range t.rows {
		sums := t.sums.row(r)
		t.op("CBNZ R24, %s", t.at(fmt.Sprint("row", r, "of")))
		t.op("VLD1R (R14), [V30.S4]")
		t.op("ADD R20, R14")
		for _, v := range sums {
			t.word("FMUL", v, v, 30)
		}
		t.label(fmt.Sprint("row", r, "of"))
		for _, v := range sums {
			t.word("FMUL", v, v, 31)
		}
		for q := 0; q < t.quads; q += 2 {
			t.op("FSTPQ (F%d, F%d), %d(R16)", sums[q], sums[q+1], 16*q)
		}
		t.op("ADD R11, R16")
	}
}
