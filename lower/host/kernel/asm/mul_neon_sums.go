package main

// laneSums multiplies four columns' codes by four bytes of a row, which are a lane
// of a register: two rows share one of V24-V26.
//
//	V0-V23 [rows][quads], four columns
//	V27    the mask
type laneSums struct {
	*armTile
	dot string
}

func (t laneSums) wide() bool       { return t.rows <= 3 }
func (t laneSums) sum(r, q int) int { return r*t.quads + q }

func (t laneSums) start() {
	t.mask(27)
	t.startRows(0)
}

func (t laneSums) step(bytes int) {
	t.loadPairs(bytes)
	t.eachQuad(bytes, 27, func(q int, codes []int) {
		for i, c := range codes {
			for r := range t.rows {
				t.laneWord(t.dot, t.sum(r, q), c, 24+r/2, r%2*2+i)
			}
		}
	})
}

func (t laneSums) finish()             { t.float(0) }
func (t laneSums) scale()              { t.scaleRegisters(0) }
func (t laneSums) row(r, q int) [8]int { return rowAt(t.sum(r, q)) }

// matrixSums multiplies 8 codes of two columns by 8 bytes of two rows. The last of
// an odd number of rows is beside a row of zeros.
//
//	V0-V23  [pairs of rows][quads][2], two columns by two rows
//	V24-V26 x, of pairs of rows
//	V27     the mask, or codes of w8
type matrixSums struct{ *armTile }

func (t matrixSums) wide() bool          { return t.rows <= 2 }
func (t matrixSums) pairs() int          { return (t.rows + 1) / 2 }
func (t matrixSums) sum(pair, q int) int { return 2 * (pair*t.quads + q) }

func (t matrixSums) start() {
	t.mask(27)
	t.op("MOVD R9, R16")
	for p := range t.pairs() {
		if 2*p+1 < t.rows {
			t.op("VLD1R.P 8(R16), [V%d.D2]", t.sum(p, 0))
		} else {
			t.op("VLD1R (R16), [V%d.S4]", t.sum(p, 0))
		}
		t.copies(t.sum(p, 0), 2*t.quads)
	}
}

func (t matrixSums) step(bytes int) {
	t.loadPairs(bytes)
	t.eachQuad(bytes, 27, func(q int, codes []int) {
		c, d, low := codes[0], codes[0]+1, 27
		if t.w4 {
			low = 31
		}
		if bytes == 4 {
			t.clear(d, 1)
		}
		t.op("VZIP1 V%d.S4, V%d.S4, V%d.S4", d, c, low)
		t.op("VZIP2 V%d.S4, V%d.S4, V%d.S4", d, c, d)
		for p := range t.pairs() {
			t.word("USMMLA", t.sum(p, q), low, 24+p)
		}
		for p := range t.pairs() {
			t.word("USMMLA", t.sum(p, q)+1, d, 24+p)
		}
	})
}

func (t matrixSums) finish() { t.convert(0, 2*t.quads*t.pairs()) }

func (t matrixSums) scale() {
	for p := range t.pairs() {
		t.op("FMOVS (R16), F28")
		if 2*p+1 < t.rows {
			t.op("ADD R20, R16")
			t.op("VLD1 (R16), V28.S[1]")
			t.op("ADD R20, R16")
		}
		t.op("VDUP V28.D[0], V28.D2")
		t.scaleBy28(t.sum(p, 0), 2*t.quads)
	}
}

func (t matrixSums) row(r, q int) (v [8]int) {
	for i := range 4 {
		a := t.sum(r/2, q+i)
		v[i], v[4+i] = a, a+1
		if r%2 == 0 {
			v[i] = 24 + i
			t.op("VUZP1 V%d.S4, V%d.S4, V%d.S4", a+1, a, v[i])
			t.op("VUZP2 V%d.S4, V%d.S4, V%d.S4", a+1, a, a)
		}
	}
	return v
}

// longSums multiplies eight codes, of two columns, by four bytes of a row twice,
// to products of 16 bits. Of w8 two are added before the sum is of 32 bits; of w4
// 16, each at most 15*128.
//
//	V0-V15  [rows][quads][2], two columns of two sums each; in w4 of four of 16 bits
//	V16-V23 [rows][quads], four columns; in w8 products
//	V24-V27 x, [rows][2]
//	V31     the mask of w4; of w8 V23
type longSums struct{ *armTile }

func (t longSums) wide() bool          { return t.rows == 1 }
func (t longSums) total(r, q int) int  { return 16 + r*t.quads + q }
func (t longSums) row(r, q int) [8]int { return rowAt(t.total(r, q)) }
func (t longSums) scale()              { t.scaleRegisters(16) }

func (t longSums) maskAt() int {
	if t.w4 {
		return 31
	}
	return 23
}

func (t longSums) start() {
	t.mask(t.maskAt())
	if t.w4 {
		t.startRows(16)
	}
}

// loop adds 8 steps at a time to sums of 16 bits, in w4.
func (t longSums) loop() {
	if !t.w4 {
		t.clear(0, 16)
		t.armTile.loop()
		return
	}
	t.op("MOVD R23, R13")
	t.op("MOVD $8, R16")
	t.label(t.local("part"))
	t.op("CMP $8, R13")
	t.op("CSEL LT, R13, R16, R17")
	t.op("SUB R17, R13")
	t.clear(0, 16)
	t.steps("R17")
	t.eachSum(func(sum, total int) {
		t.word("SADDLP.8H", sum, sum)
		t.word("SADDLP.8H", sum+1, sum+1)
		t.op("VADDP V%d.S4, V%d.S4, V%d.S4", sum+1, sum, sum)
		t.op("VADD V%d.S4, V%d.S4, V%d.S4", sum, total, total)
	})
	t.op("CBNZ R13, %s", t.name("part"))
}

func (t longSums) eachSum(write func(sum, total int)) {
	for i := range t.rows * t.quads {
		write(2*i, 16+i)
	}
}

func (t longSums) step(bytes int) {
	for r := range t.rows {
		for i := range bytes / 4 {
			t.op("VLD1R.P 4(R%d), [V%d.S4]", 1+r, 24+2*r+i)
		}
	}
	t.eachQuad(bytes, t.maskAt(), func(q int, codes []int) {
		for i, c := range codes {
			for r := range t.rows {
				name, to := "SMLAL", 2*(r*t.quads+q)
				if !t.w4 {
					to = 16 + 2*r
				}
				if !t.w4 && i == 0 {
					name = "SMULL"
				}
				t.word(name, to, c, 24+2*r+i)
				t.word(name+"2", to+1, c, 24+2*r+i)
			}
		}
		for r := range t.rows {
			for half := range 2 {
				if !t.w4 {
					t.word("SADALP.8H", 2*(r*t.quads+q)+half, 16+2*r+half)
				}
			}
		}
	})
}

func (t longSums) finish() {
	if !t.w4 {
		t.eachSum(func(sum, total int) { t.op("VADDP V%d.S4, V%d.S4, V%d.S4", sum+1, sum, total) })
	}
	t.float(16)
}
