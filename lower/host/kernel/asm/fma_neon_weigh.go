package main

// weigh turns scores, which are logarithms to base 2, into weights, as weighX86.
//
//	V0-V3    x; V4-V7 its whole part; V16-V23 its powers
//	V8-V13   coefficients of 2^x, the highest last; V14, V15 one, the lowest x
//	V24-V28  sums, the row's maximum
//	R0  the weigh; R1, R2 a row of scores and of weights; R3, R4 places in them
//	R5 R6  columns/32, and to go; R7 rows to go; R8, R9, R10 top, total, fall
func (n neon) weigh() {
	n.function("weighNeon", "is the weigh function of Neon.", param{"t", "*weigh"})
	n.op("MOVD t+0(FP), R0")
	n.op("MOVD weigh_columns(R0), R5")
	n.op("LSR $5, R5")
	for i, c := range exp2 {
		n.constant(8+i, bits(c))
	}
	n.constant(14, bits(1))
	n.constant(15, bits(-127))
	n.tops()
	n.falls()
	n.weights()
	n.op("RET")
}

// begin sets registers for the first row.
func (n neon) begin() {
	n.op("MOVD weigh_scores(R0), R1")
	n.op("MOVD weigh_weights(R0), R2")
	n.op("MOVD weigh_rows(R0), R7")
	n.op("MOVD weigh_top(R0), R8")
	n.op("MOVD weigh_total(R0), R9")
	n.op("MOVD weigh_fall(R0), R10")
}

// tops puts the maximum of each row's scores where fall goes.
func (n neon) tops() {
	n.begin()
	n.label("top")
	n.op("MOVD R1, R3")
	n.op("MOVD R5, R6")
	n.constant(0, lowestFloat)
	for i := 1; i < 4; i++ {
		n.op("VORR V0.B16, V0.B16, V%d.B16", i)
	}
	n.label("most")
	for range 2 {
		n.op("FLDPQ.P 32(R3), (F4, F5)")
		n.op("FLDPQ.P 32(R3), (F6, F7)")
		for i := range 4 {
			n.word("FMAX", i, i, 4+i)
		}
	}
	n.op("SUBS $1, R6")
	n.op("BNE %s", n.at("most"))
	n.word("FMAX", 0, 0, 1)
	n.word("FMAX", 2, 2, 3)
	n.word("FMAX", 0, 0, 2)
	n.word("FMAXV", 0, 0)
	n.op("FMOVS.P F0, 4(R10)")
	n.op("ADD $(4*const_flashKeys), R1")
	n.op("SUBS $1, R7")
	n.op("BNE %s", n.at("top"))
}

// falls brings top, total and fall up to date, of eight rows.
func (n neon) falls() {
	n.begin()
	n.op("FLDPQ (R8), (F0, F1)")
	n.op("FLDPQ (R10), (F2, F3)")
	for i := range 2 {
		n.word("FMAX", 2+i, i, 2+i)
		n.word("FSUB", i, i, 2+i)
	}
	n.op("FSTPQ (F2, F3), (R8)")
	p := n.exp2(2)
	n.op("FSTPQ (F%d, F%d), (R10)", p, p+1)
	n.op("FLDPQ (R9), (F0, F1)")
	for i := range 2 {
		n.word("FMUL", i, i, p+i)
	}
	n.op("FSTPQ (F0, F1), (R9)")
}

// exp2 sets registers from the one it returns on to 2^x for each x in registers 0
// to count-1, which are lost. 2^-Inf is 0, of NaN is NaN.
func (n neon) exp2(count int) int {
	each := func(write func(i int)) {
		for i := range count {
			write(i)
		}
	}
	each(func(i int) { n.word("FMAX", i, i, 15) })
	each(func(i int) { n.word("FRINTM", 4+i, i) })
	each(func(i int) { n.word("FSUB", i, i, 4+i) })
	each(func(i int) { n.word("FCVTZS", 4+i, 4+i) })
	each(func(i int) { n.op("VSHL $23, V%d.S4, V%d.S4", 4+i, 4+i) })
	p, next := 16, 20
	coefficient := 7 + len(exp2)
	each(func(i int) { n.copy(coefficient, p+i) })
	for coefficient > 8 {
		coefficient--
		each(func(i int) { n.copy(coefficient, next+i) })
		each(func(i int) { n.op("VFMLA V%d.S4, V%d.S4, V%d.S4", i, p+i, next+i) })
		p, next = next, p
	}
	each(func(i int) { n.copy(14, next+i) })
	each(func(i int) { n.op("VFMLA V%d.S4, V%d.S4, V%d.S4", i, p+i, next+i) })
	each(func(i int) { n.op("VADD V%d.S4, V%d.S4, V%d.S4", 4+i, next+i, next+i) })
	return next
}

func (n neon) copy(from, to int) { n.op("VORR V%d.B16, V%[1]d.B16, V%d.B16", from, to) }

// weights writes the weights of each row, and adds them to its total.
func (n neon) weights() {
	n.begin()
	n.label("row")
	n.op("MOVD R1, R3")
	n.op("MOVD R2, R4")
	n.op("MOVD R5, R6")
	n.op("VLD1R.P 4(R8), [V28.S4]")
	for i := range 4 {
		n.zero(24 + i)
	}
	n.label("columns")
	for range 2 {
		n.op("FLDPQ.P 32(R3), (F0, F1)")
		n.op("FLDPQ.P 32(R3), (F2, F3)")
		for i := range 4 {
			n.word("FSUB", i, i, 28)
		}
		p := n.exp2(4)
		for i := range 4 {
			n.word("FADD", 24+i, 24+i, p+i)
		}
		n.op("FSTPQ.P (F%d, F%d), 32(R4)", p, p+1)
		n.op("FSTPQ.P (F%d, F%d), 32(R4)", p+2, p+3)
	}
	n.op("SUBS $1, R6")
	n.op("BNE %s", n.at("columns"))
	n.word("FADD", 24, 24, 25)
	n.word("FADD", 26, 26, 27)
	n.word("FADD", 24, 24, 26)
	n.word("FADDP", 24, 24, 24)
	n.word("FADDP", 24, 24, 24)
	n.op("FMOVS (R9), F0")
	n.word("FADD", 0, 0, 24)
	n.op("FMOVS.P F0, 4(R9)")
	n.op("ADD $(4*const_flashKeys), R1")
	n.op("ADD $(4*const_flashKeys), R2")
	n.op("SUBS $1, R7")
	n.op("BNE %s", n.at("row"))
}
