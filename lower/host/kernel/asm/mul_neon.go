package main

import "fmt"

// mulARM64 writes the tile functions, the sums of segments and the peaks.
func mulARM64(s *source) {
	for _, w4 := range []bool{true, false} {
		t := armTile{source: s, w4: w4}
		t.function("I8MM", 6, func(t *armTile) armSums {
			if t.rows == 1 {
				return laneSums{t, "USDOT"}
			}
			return matrixSums{t}
		})
		t.signed = !w4
		t.function("DotProd", 6, func(t *armTile) armSums { return laneSums{t, "SDOT"} })
		t.function("Neon", 2, func(t *armTile) armSums { return longSums{t} })
	}
	sumsNeon(s)
	peakARM64(s, "I8MM", "USMMLA", func(sum int) { s.word("USMMLA", sum, 30, 31) })
	peakARM64(s, "DotProd", "SDOT", func(sum int) { s.laneWord("SDOT", sum, 30, 31, sum%4) })
	peakARM64(s, "Neon", "SMLAL", func(sum int) { s.word([]string{"SMLAL", "SMLAL2"}[sum%2], sum, 30, 31) })
}

// An armTile writes a tile function: 16 columns after 16, or 32 where their sums
// have room in registers. A quad is the four columns of 16 bytes of codes.
// What is float stands in dst until all segments are added.
//
//	R0      tile                R14  row scales, of the block
//	R1-R6   x, of each row      R15  segments left in the block
//	R7      codes               R16, R17  scratch
//	R8      scales              R19  bytes of a block's codes in earlier columns
//	R9      corr                R20  stride
//	R10     dst                 R21  corrStride
//	R11     dstStride           R22  next
//	R12     segments left       R23  steps
//	R13     steps left          R24  perBlock
//
//	V0-V23  sums                V24-V27  x; four quads of dst
//	V28-V31 codes; four quads of the columns' scales
type armTile struct {
	*source
	w4     bool
	signed bool // codes are made q, which needs no corr; only of w8
	rows   int
	quads  int
	sums   armSums
}

// armSums are a segment's sums of products in one instruction set.
type armSums interface {
	wide() bool          // whether 32 columns have room
	start()              // begins a segment
	loop()               // adds its steps
	step(bytes int)      // adds 8 bytes of each row, or 4
	finish()             // makes the sums float
	scale()              // multiplies them by the scales of rows, the first at R16
	row(r, q int) [8]int // registers of quads q to q+3 of row r, and four free ones
}

func (t *armTile) function(set string, most int, sums func(*armTile) armSums) {
	encoding := "W8"
	if t.w4 {
		encoding = "W4"
	}
	t.source.function("mul"+encoding+set, fmt.Sprintf("is a tile function of up to %d rows.", most), param{"t", "*tile"})
	t.op("MOVD t+0(FP), R0")
	for _, f := range []struct {
		name     string
		register int
	}{{"rows", 16}, {"dstStride", 11}, {"stride", 20}, {"corrStride", 21}, {"next", 22}, {"steps", 23}, {"perBlock", 24}} {
		t.field(f.name, f.register)
	}
	t.op("MOVD ZR, R19")
	for t.rows = 1; t.rows < most; t.rows++ {
		t.op("CMP $%d, R16", t.rows)
		t.op("BEQ %s", t.name("rows"))
	}
	for t.rows = most; t.rows > 0; t.rows-- {
		t.label(t.local("rows"))
		t.sums = sums(t)
		t.body()
	}
}

// field loads a field of the tile, of a slice its address.
func (t *armTile) field(name string, register int) { t.op("MOVD tile_%s(R0), R%d", name, register) }

// local and name give labels apart for each number of rows.
func (t *armTile) local(label string) string { return fmt.Sprint(label, t.rows) }
func (t *armTile) name(label string) string  { return t.at(t.local(label)) }

func (t *armTile) body() {
	t.quads = 4
	if t.sums.wide() {
		t.quads = 8
	}
	t.label(t.local("columns"))
	t.begin()
	t.label(t.local("segment"))
	t.sums.start()
	t.sums.loop()
	t.sums.finish()
	t.scaleBlocks()
	t.addFloats()
	t.op("ADD R21, R9")
	t.op("ADD R22, R8")
	t.op("SUBS $1, R12")
	t.op("BNE %s", t.name("segment"))
	t.scaleRows()
	if t.quads == 4 {
		t.op("ADD $64, R19")
		t.op("CMP $128, R19")
		t.op("BNE %s", t.name("columns"))
	}
	t.op("RET")
}

// begin sets registers for the first segment of some columns, and dst to zero.
func (t *armTile) begin() {
	t.field("x", 1)
	for r := 2; r <= t.rows; r++ {
		t.op("ADD R20, R%d, R%d", r-1, r)
	}
	t.field("codes", 7)
	t.op("ADD R19, R7")
	t.field("scales", 8)
	t.op("ADD R19>>1, R8")
	t.field("corr", 9)
	t.field("dst", 10)
	t.op("ADD R19, R10")
	t.field("segments", 12)
	t.field("scaleAt", 14)
	t.op("ADD R1, R14")
	t.op("MOVD R24, R15")
	t.op("VEOR V31.B16, V31.B16, V31.B16")
	t.eachRow(func(int) {
		for q := 0; q < t.quads; q += 2 {
			t.op("FSTPQ (F31, F31), %d(R16)", 16*q)
		}
	})
}

// eachRow runs write with R16 at each row of dst.
func (t *armTile) eachRow(write func(r int)) {
	t.op("MOVD R10, R16")
	for r := range t.rows {
		write(r)
		if r < t.rows-1 {
			t.op("ADD R11, R16")
		}
	}
}

// scaleBlocks multiplies sums by the scales of the rows' block, if there are blocks.
func (t *armTile) scaleBlocks() {
	t.op("CBZ R24, %s", t.name("floats"))
	t.op("MOVD R14, R16")
	t.sums.scale()
	t.op("SUBS $1, R15")
	t.op("BNE %s", t.name("floats"))
	t.op("ADD $4, R14")
	t.op("MOVD R24, R15")
	t.label(t.local("floats"))
}

// addFloats adds the sums times the scales of the columns to dst.
func (t *armTile) addFloats() {
	for first := 0; first < t.quads; first += 4 {
		t.op("FLDPQ %d(R8), (F24, F25)", 8*first)
		for i := range 2 {
			t.word("FCVTL", 28+2*i, 24+i)
			t.word("FCVTL2", 29+2*i, 24+i)
		}
		t.eachRow(func(r int) {
			v := t.sums.row(r, first)
			for i := 0; i < 4; i += 2 {
				t.op("FLDPQ %d(R16), (F%d, F%d)", 16*(first+i), v[4+i], v[5+i])
			}
			for i := range 4 {
				t.op("VFMLA V%d.S4, V%d.S4, V%d.S4", 28+i, v[i], v[4+i])
			}
			for i := 0; i < 4; i += 2 {
				t.op("FSTPQ (F%d, F%d), %d(R16)", v[4+i], v[5+i], 16*(first+i))
			}
		})
	}
}

// scaleRows multiplies dst by the rows' scales, if there are no blocks, and by factor.
func (t *armTile) scaleRows() {
	t.op("MOVD $tile_factor(R0), R16")
	t.op("VLD1R (R16), [V31.S4]")
	t.eachRow(func(r int) {
		for q := 0; q < t.quads; q += 2 {
			t.op("FLDPQ %d(R16), (F%d, F%d)", 16*q, q, q+1)
		}
		t.op("CBNZ R24, %s", t.name(fmt.Sprint("factor", r, "of")))
		t.op("VLD1R (R14), [V30.S4]")
		t.op("ADD R20, R14")
		for q := range t.quads {
			t.word("FMUL", q, q, 30)
		}
		t.label(t.local(fmt.Sprint("factor", r, "of")))
		for q := range t.quads {
			t.word("FMUL", q, q, 31)
		}
		for q := 0; q < t.quads; q += 2 {
			t.op("FSTPQ (F%d, F%d), %d(R16)", q, q+1, 16*q)
		}
	})
}
