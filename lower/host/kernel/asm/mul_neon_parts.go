package main

// What the sums of several instruction sets have in common.

// loop adds the steps of a segment.
func (t *armTile) loop() {
	t.op("MOVD R23, R13")
	t.steps("R13")
}

// steps writes the loop over a register of steps, of w8 two at a time.
func (t *armTile) steps(register string) {
	if t.w4 {
		t.label(t.local("step"))
		t.sums.step(8)
		t.op("SUBS $1, %s", register)
		t.op("BNE %s", t.name("step"))
		return
	}
	t.op("SUBS $2, %s", register)
	t.op("BLT %s", t.name("last"))
	t.label(t.local("step"))
	t.sums.step(8)
	t.op("SUBS $2, %s", register)
	t.op("BGE %s", t.name("step"))
	t.label(t.local("last"))
	t.op("TBZ $0, %s, %s", register, t.name("added"))
	t.sums.step(4)
	t.label(t.local("added"))
}

// eachQuad runs multiply with the codes of each quad, the second ones those of 4 k
// later, and loads the next quad's before: V28 and V29, in part from V30 and V31,
// or in w8 of unsigned codes each two by turns.
func (t *armTile) eachQuad(bytes, mask int, multiply func(q int, codes []int)) {
	codes := t.loadQuad(0, bytes)
	for q := range t.quads {
		now := t.unpack(codes, mask)
		if q+1 < t.quads {
			codes = t.loadQuad(q+1, bytes)
		}
		multiply(q, now)
	}
	t.op("ADD $%d, R7", 128*len(codes))
}

func (t *armTile) loadQuad(q, bytes int) []int {
	codes := []int{30, 31}[:bytes/4]
	if t.w4 {
		codes = codes[:1]
	} else if !t.signed && q%2 == 1 {
		codes = []int{28, 29}[:bytes/4]
	}
	for i, v := range codes {
		t.op("FMOVQ %d(R7), F%d", 128*i+16*q, v)
	}
	return codes
}

func (t *armTile) unpack(codes []int, mask int) []int {
	switch {
	case t.w4:
		t.op("VAND V%d.B16, V30.B16, V28.B16", mask)
		t.op("VUSHR $4, V30.B16, V29.B16")
		return []int{28, 29}
	case t.signed:
		for i, v := range codes {
			t.op("VEOR V%d.B16, V%d.B16, V%d.B16", mask, v, 28+i)
		}
		return []int{28, 29}[:len(codes)]
	}
	return codes
}

// mask sets a register to what parts codes, or makes them signed.
func (t *armTile) mask(register int) {
	if t.w4 {
		t.op("VMOVI $15, V%d.B16", register)
	} else if t.signed {
		t.op("VMOVI $128, V%d.B16", register)
	}
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

// startRows starts sums [rows][quads] from corr, or from zero.
func (t *armTile) startRows(sums int) {
	if t.signed {
		t.clear(sums, t.rows*t.quads)
		return
	}
	t.op("MOVD R9, R16")
	for r := range t.rows {
		t.op("VLD1R.P 4(R16), [V%d.S4]", sums+r*t.quads)
		t.copies(sums+r*t.quads, t.quads)
	}
}

func (t *armTile) clear(first, n int) {
	for v := first; v < first+n; v++ {
		t.op("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v)
	}
}

// copies makes n registers the same as the first.
func (t *armTile) copies(first, n int) {
	for v := first + 1; v < first+n; v++ {
		t.op("VORR V%d.B16, V%d.B16, V%d.B16", first, first, v)
	}
}

func (t *armTile) convert(first, n int) {
	for v := first; v < first+n; v++ {
		t.word("SCVTF", v, v)
	}
}

// scaleBy28 multiplies registers by V28.
func (t *armTile) scaleBy28(first, n int) {
	for v := first; v < first+n; v++ {
		t.word("FMUL", v, v, 28)
	}
}

// float and scaleRegisters are finish and scale of sums [rows][quads].
func (t *armTile) float(sums int) { t.convert(sums, t.rows*t.quads) }

func (t *armTile) scaleRegisters(sums int) {
	for r := range t.rows {
		t.op("VLD1R (R16), [V28.S4]")
		t.op("ADD R20, R16")
		t.scaleBy28(sums+r*t.quads, t.quads)
	}
}

// rowAt is row of sums [rows][quads] where V24-V27 are free.
func rowAt(sum int) [8]int { return [8]int{sum, sum + 1, sum + 2, sum + 3, 24, 25, 26, 27} }
