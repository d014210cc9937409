package main

// loop adds the steps of a segment.
func (t *armTile) loop() {
	t.op("MOVD R23, R13")
	t.steps("R13")
}

// steps writes the loop over a register of steps, of w8 two at a time.
func (t *armTile) steps(register string) {
	if t.codes != w8Codes {
		t.label("step")
		t.sums.step(8)
		t.op("SUBS $1, %s", register)
		t.op("BNE %s", t.at("step"))
		return
	}
	t.op("SUBS $2, %s", register)
	t.op("BLT %s", t.at("last"))
	t.label("step")
	t.sums.step(8)
	t.op("SUBS $2, %s", register)
	t.op("BGE %s", t.at("step"))
	t.label("last")
	t.op("TBZ $0, %s, %s", register, t.at("added"))
	t.sums.step(4)
	t.label("added")
}

// loadPairs loads 8 bytes of each row, or 4: two rows to each of V24-V26.
func (t *armTile) loadPairs(bytes int) {
	for r := range t.rows {
		v := 24 + r/2
		switch {
		case r%2 == 0 && bytes == 8:
			t.op("FMOVD.P 8(R%d), F%d", 1+r, v)
		case r%2 == 0:
			t.op("FMOVS.P 4(R%d), F%d", 1+r, v)
		case bytes == 8:
			t.op("VLD1.P 8(R%d), V%d.D[1]", 1+r, v)
		default:
			t.op("VLD1.P 4(R%d), V%d.S[2]", 1+r, v)
		}
	}
}

// eachQuad runs multiply with two registers of each quad's codes, those of 4 k and
// of the next 4, or with the first alone. The next quad's are loaded before.
func (t *armTile) eachQuad(bytes, mask int, multiply func(q int, codes []int)) {
	codes := t.loadQuad(0, bytes)
	for q := range t.quads {
		now := t.unpack(codes, mask)
		if q+1 < t.quads {
			codes = t.loadQuad(q+1, bytes)
		}
		multiply(q, now)
	}
	size := 128 * len(codes)
	if t.codes == unpackedCodes {
		size = 256
	}
	t.op("ADD $%d, R7", size)
}

// loadQuad loads to V30 and V31, or by turns to V28 and V29 where unpack leaves
// codes where they are.
func (t *armTile) loadQuad(q, bytes int) []int {
	codes := []int{30, 31}[:bytes/4]
	if t.codes != w4Codes && !t.unpacks() && q%2 == 1 {
		codes = []int{28, 29}[:bytes/4]
	}
	switch t.codes {
	case unpackedCodes:
		t.op("FLDPQ %d(R7), (F%d, F%d)", 32*q, codes[0], codes[1])
	case w8Codes:
		for i, v := range codes {
			t.op("FMOVQ %d(R7), F%d", 128*i+16*q, v)
		}
	default:
		codes = codes[:1]
		t.op("FMOVQ %d(R7), F30", 16*q)
	}
	return codes
}

func (t *armTile) unpacks() bool { return t.codes == w4Codes || t.codes == w8Codes && t.signed }

func (t *armTile) unpack(codes []int, mask int) []int {
	if !t.unpacks() {
		return codes
	}
	if t.codes == w4Codes {
		t.op("VAND V%d.B16, V30.B16, V28.B16", mask)
		t.op("VUSHR $4, V30.B16, V29.B16")
		return []int{28, 29}
	}
	for i, v := range codes {
		t.op("VEOR V%d.B16, V%d.B16, V%d.B16", mask, v, 28+i)
	}
	return []int{28, 29}[:len(codes)]
}

// mask sets a register to what unpack needs.
func (t *armTile) mask(register int) {
	if t.unpacks() {
		t.op("VMOVI $%d, V%d.B16", map[armCodes]int{w4Codes: 15, w8Codes: 128}[t.codes], register)
	}
}

func (t *armTile) clear(first, end int) {
	for v := first; v < end; v++ {
		t.op("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v)
	}
}

// startSigned starts sums from zero, or from bias.
func (t *armTile) startSigned(first, end int) {
	if t.codes != unpackedCodes {
		t.clear(first, end)
		return
	}
	t.op("VDUP R25, V%d.S4", first)
	t.copies(first, end)
}

// startCorr points R16 to corr; startFrom starts sums from the first, plus bias in w4.
func (t *armTile) startCorr() {
	if t.codes == w4Codes {
		t.op("VDUP R25, V28.S4")
	}
	t.op("MOVD R9, R16")
}

func (t *armTile) startFrom(first, end int) {
	if t.codes == w4Codes {
		t.op("VADD V28.S4, V%d.S4, V%d.S4", first, first)
	}
	t.copies(first, end)
}

func (t *armTile) copies(first, end int) {
	for v := first + 1; v < end; v++ {
		t.op("VORR V%d.B16, V%d.B16, V%d.B16", first, first, v)
	}
}

// floats makes sums float: those that started from bias by taking it off.
func (t *armTile) floats(first, end int) {
	if t.codes == unpackedCodes {
		t.op("CBZ R25, %s", t.at("large"))
	}
	if t.codes != w8Codes {
		t.op("VDUP R25, V28.S4")
		for v := first; v < end; v++ {
			t.word("FSUB", v, v, 28)
		}
	}
	if t.codes == unpackedCodes {
		t.op("B %s", t.at("small"))
		t.label("large")
	}
	if t.codes != w4Codes {
		for v := first; v < end; v++ {
			t.word("SCVTF", v, v)
		}
	}
	if t.codes == unpackedCodes {
		t.label("small")
	}
}
