package main

// rowSums are sums [rows][quads] of four columns, from a register on.
type rowSums struct {
	*armTile
	first int
}

func (t rowSums) sum(r, q int) int      { return t.first + r*t.quads + q }
func (t rowSums) registers() (int, int) { return t.first, t.sum(t.rows, 0) }
func (t rowSums) finish()               { t.floats(t.registers()) }
func (t rowSums) groups() int           { return t.quads / 4 }

func (t rowSums) start() {
	if t.signed {
		t.startSigned(t.registers())
		return
	}
	t.startCorr()
	for r := range t.rows {
		t.op("VLD1R.P 4(R16), [V%d.S4]", t.sum(r, 0))
		t.startFrom(t.sum(r, 0), t.sum(r+1, 0))
	}
}

func (t rowSums) scale() {
	for r := range t.rows {
		t.op("VLD1R (R16), [V28.S4]")
		t.op("ADD R20, R16")
		for q := range t.quads {
			t.word("FMUL", t.sum(r, q), t.sum(r, q), 28)
		}
	}
}

func (t rowSums) group(g int) (sums []int) {
	t.op("FLDPQ %d(R8), (F24, F25)", 32*g)
	for i := range 2 {
		t.word("FCVTL", 28+2*i, 24+i)
		t.word("FCVTL2", 29+2*i, 24+i)
	}
	for r := range t.rows {
		sums = append(sums, t.sum(r, 4*g))
	}
	return sums
}

func (t rowSums) row(r int) (sums []int) {
	for q := 0; q < t.quads; q += 2 {
		t.op("FLDPQ %d(R10), (F%d, F%d)", 16*(r*t.quads+q), q, q+1)
		sums = append(sums, q, q+1)
	}
	return sums
}

// laneSums multiplies four columns' codes by four bytes of a row, which are a lane
// of a register: two rows share one of V24-V26. V27 is the mask.
type laneSums struct {
	rowSums
	dot string
}

func (t laneSums) wide() bool { return t.rows <= 3 }

func (t laneSums) start() {
	t.mask(27)
	t.rowSums.start()
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

// matrixSums multiplies 8 codes of two columns by 8 bytes of two rows. The last of
// an odd number of rows is beside a row of zeros.
//
//	V0-V23  [pairs of rows][quads][2], two columns by two rows
//	V24-V26 x, of pairs of rows
//	V27     the mask, or codes of w8
type matrixSums struct {
	*armTile
	multiply string
}

func (t matrixSums) wide() bool            { return t.rows <= 2 }
func (t matrixSums) pairs() int            { return (t.rows + 1) / 2 }
func (t matrixSums) sum(pair, q int) int   { return 2 * (pair*t.quads + q) }
func (t matrixSums) registers() (int, int) { return 0, t.sum(t.pairs(), 0) }
func (t matrixSums) finish()               { t.floats(t.registers()) }
func (t matrixSums) groups() int           { return t.quads / 2 }

func (t matrixSums) start() {
	if t.signed {
		t.startSigned(t.registers())
		return
	}
	t.mask(27)
	t.startCorr()
	for p := range t.pairs() {
		if 2*p+1 < t.rows {
			t.op("VLD1R.P 8(R16), [V%d.D2]", t.sum(p, 0))
		} else {
			t.op("VLD1R (R16), [V%d.S4]", t.sum(p, 0))
		}
		t.startFrom(t.sum(p, 0), t.sum(p+1, 0))
	}
}

func (t matrixSums) step(bytes int) {
	t.loadPairs(bytes)
	t.eachQuad(bytes, 27, func(q int, codes []int) {
		a, b := codes[0], codes[0]+1
		if t.codes != unpackedCodes {
			if bytes == 4 {
				t.clear(b, b+1)
			}
			a = t.zip(codes[0], b)
		}
		for i, c := range []int{a, b} {
			for p := range t.pairs() {
				t.word(t.multiply, t.sum(p, q)+i, c, 24+p)
			}
		}
	})
}

// zip puts together the 8 codes of each column: of the first two in the register
// that it returns, of the others in b.
func (t matrixSums) zip(a, b int) int {
	free := 27
	if t.codes == w4Codes {
		free = 31
	}
	t.op("VZIP1 V%d.S4, V%d.S4, V%d.S4", b, a, free)
	t.op("VZIP2 V%d.S4, V%d.S4, V%d.S4", b, a, b)
	return free
}

func (t matrixSums) scale() {
	for p := range t.pairs() {
		t.op("FMOVS (R16), F28")
		if 2*p+1 < t.rows {
			t.op("ADD R20, R16")
			t.op("VLD1 (R16), V28.S[1]")
			t.op("ADD R20, R16")
		}
		t.op("VDUP V28.D[0], V28.D2")
		for v := t.sum(p, 0); v < t.sum(p+1, 0); v++ {
			t.word("FMUL", v, v, 28)
		}
	}
}

func (t matrixSums) group(g int) (sums []int) {
	t.op("FMOVQ %d(R8), F24", 16*g)
	t.word("FCVTL", 25, 24)
	t.word("FCVTL2", 26, 24)
	for i := range 2 {
		t.op("VZIP1 V%d.S4, V%d.S4, V%d.S4", 25+i, 25+i, 28+2*i)
		t.op("VZIP2 V%d.S4, V%d.S4, V%d.S4", 25+i, 25+i, 29+2*i)
	}
	for p := range t.pairs() {
		sums = append(sums, t.sum(p, 2*g))
	}
	return sums
}

func (t matrixSums) row(r int) (sums []int) {
	for q := range t.quads {
		v := 2 * q
		if r%2 == 0 {
			v = 16 + q
			t.op("FLDPQ %d(R10), (F%d, F%d)", 16*t.sum(r/2, q), 2*q, 2*q+1)
			t.op("VUZP1 V%d.S4, V%d.S4, V%d.S4", 2*q+1, 2*q, v)
			t.op("VUZP2 V%d.S4, V%d.S4, V%d.S4", 2*q+1, 2*q, 2*q)
		}
		sums = append(sums, v)
	}
	return sums
}

// longSums multiplies eight codes, of two columns, by four bytes of a row twice,
// to products of 16 bits. Of w8 two are added before the sum is of 32 bits; of w4
// 16, each at most 15*128.
//
//	V0-V15  [rows][quads][2], two columns of two sums each; in w4 of four of 16 bits
//	V16-V23 [rows][quads], four columns; in w8 products
//	V24-V27 x, [rows][2]
//	V31     the mask of w4; of w8 V23
type longSums struct{ rowSums }

func (t longSums) wide() bool { return t.rows == 1 }

func (t longSums) maskAt() int {
	if t.codes == w4Codes {
		return 31
	}
	return 23
}

func (t longSums) start() {
	t.mask(t.maskAt())
	if t.codes == w4Codes {
		t.rowSums.start()
	}
}

// loop adds 8 steps at a time to sums of 16 bits, in w4.
func (t longSums) loop() {
	if t.codes != w4Codes {
		t.clear(0, 16)
		t.armTile.loop()
		return
	}
	t.op("MOVD R23, R13")
	t.op("MOVD $8, R16")
	t.label("part")
	t.op("CMP $8, R13")
	t.op("CSEL LT, R13, R16, R17")
	t.op("SUB R17, R13")
	t.clear(0, 16)
	t.steps("R17")
	t.eachSum(func(parts, sum int) {
		t.word("SADDLP.8H", parts, parts)
		t.word("SADDLP.8H", parts+1, parts+1)
		t.op("VADDP V%d.S4, V%d.S4, V%d.S4", parts+1, parts, parts)
		t.op("VADD V%d.S4, V%d.S4, V%d.S4", parts, sum, sum)
	})
	t.op("CBNZ R13, %s", t.at("part"))
}

// eachSum runs write with each sum and the first of the two registers it comes from.
func (t longSums) eachSum(write func(parts, sum int)) {
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
				if t.codes == w8Codes {
					to = 16 + 2*r
				}
				if t.codes == w8Codes && i == 0 {
					name = "SMULL"
				}
				t.word(name, to, c, 24+2*r+i)
				t.word(name+"2", to+1, c, 24+2*r+i)
			}
		}
		if t.codes == w8Codes {
			for r := range t.rows {
				t.word("SADALP.8H", 2*(r*t.quads+q), 16+2*r)
				t.word("SADALP.8H", 2*(r*t.quads+q)+1, 17+2*r)
			}
		}
	})
}

func (t longSums) finish() {
	if t.codes == w8Codes {
		t.eachSum(func(parts, sum int) { t.op("VADDP V%d.S4, V%d.S4, V%d.S4", parts+1, parts, sum) })
	}
	t.rowSums.finish()
}
