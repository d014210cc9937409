package main

import "fmt"

// A weighX86 turns scores, which are logarithms to base 2, into weights.
//
//	Z0-Z5 / Y0-Y5    at work
//	Z8-Z13 / Y8-Y13  coefficients of 2^x, the highest last
//	Z14 / Y14, Y15   one, the lowest x
//	Z20-Z22 / Y6, Y7 sums, the row's maximum; Z23 pairs of ones
//	SI the weigh; DI, R9 a row of scores and of weights; DX columns/32; R8 rows to go
type weighX86 struct {
	x86
	pairs bool
}

// exp2 are the coefficients of 1 + c1 x + c2 x^2 + ..., which is 2^x for 0 <= x < 1
// to a relative error of 2.1e-9, and 1 at 0.
var exp2 = []float32{0.693147044443, 0.240229305554, 0.0554852806079, 0.00967545159359, 0.00124678461739, 0.000216129159441}

const lowestFloat = 0xff7fffff

func (x x86) weigh() {
	weighX86{x, false}.function()
	if x.wide() {
		weighX86{x, true}.function()
	}
}

func (t weighX86) function() {
	name := "weigh"
	if t.pairs {
		name = "weighPairs"
	}
	t.x86.function(name+t.set, "is the weigh function of "+t.set+".", param{"t", "*weigh"})
	t.op("MOVQ t+0(FP), SI")
	t.op("MOVQ weigh_columns(SI), DX")
	t.op("SHRQ $5, DX")
	t.constants()
	t.tops()
	t.falls()
	t.weights()
	t.done()
}

func (t weighX86) constants() {
	for i, c := range exp2 {
		t.constant(8+i, bits(c))
	}
	t.constant(14, bits(1))
	if !t.wide() {
		t.constant(15, bits(-127))
	}
	if t.pairs {
		t.constant(23, 0x3f803f80)
	}
}

// columns32 writes a loop over the columns of a row, 32 at a time, at AX (and BX).
func (t weighX86) columns32(body func(), advance ...string) {
	t.op("MOVQ DX, CX")
	name := fmt.Sprint("columns", len(advance))
	t.label(name)
	body()
	for _, a := range advance {
		t.op("%s", a)
	}
	t.op("DECQ CX")
	t.op("JNZ %s", t.at(name))
}

// tops puts the maximum of each row's scores where fall goes.
func (t weighX86) tops() {
	n := 32 / t.lanes()
	t.op("MOVQ weigh_scores(SI), DI")
	t.op("MOVQ weigh_rows(SI), R8")
	t.op("MOVQ weigh_fall(SI), R9")
	t.label("top")
	t.constant(0, lowestFloat)
	for i := 1; i < n; i++ {
		t.op("VMOVAPS %s, %s", t.v(0), t.v(i))
	}
	t.op("MOVQ DI, AX")
	t.columns32(func() {
		for i := range n {
			t.op("VMAXPS %d(AX), %s, %[2]s", i*t.bytes(), t.v(i))
		}
	}, "ADDQ $128, AX")
	for i := n - 1; i > 0; i-- {
		t.op("VMAXPS %s, %s, %[2]s", t.v(i), t.v(i-1))
	}
	t.fold("VMAXPS", 0, 1)
	t.op("VMOVSS X0, (R9)")
	t.op("ADDQ $4, R9")
	t.op("ADDQ $(4*const_flashKeys), DI")
	t.op("DECQ R8")
	t.op("JNZ %s", t.at("top"))
}

// falls brings top, total and fall up to date, of 16 rows or 8.
func (t weighX86) falls() {
	t.op("MOVQ weigh_top(SI), AX")
	t.op("MOVQ weigh_total(SI), BX")
	t.op("MOVQ weigh_fall(SI), CX")
	t.op("VMOVUPS (AX), %s", t.v(0))
	t.op("VMAXPS (CX), %s, %s", t.v(0), t.v(1))
	t.op("VMOVUPS %s, (AX)", t.v(1))
	t.op("VSUBPS %s, %s, %[2]s", t.v(1), t.v(0))
	t.exp2(1)
	t.op("VMOVUPS %s, (CX)", t.v(4))
	t.op("VMULPS (BX), %s, %[1]s", t.v(4))
	t.op("VMOVUPS %s, (BX)", t.v(4))
}

// exp2 sets n registers from 4 on to 2^x for x in those from 0 on, which are lost
// as are those from 2 on. 2^-Inf is 0, of NaN is NaN.
func (t weighX86) exp2(n int) {
	each := func(format string, registers ...int) { // those below 8 are the first of n
		for i := range n {
			names := make([]any, len(registers))
			for j, r := range registers {
				if r < 8 {
					r += i
				}
				names[j] = t.v(r)
			}
			t.op(format, names...)
		}
	}
	fraction := 2
	if t.wide() {
		each("VREDUCEPS $1, %s, %s", 0, 2)
	} else {
		fraction = 0
		each("VMAXPS %[1]s, %s, %[1]s", 0, 15)
		each("VROUNDPS $1, %s, %s", 0, 2)
		each("VSUBPS %s, %s, %[2]s", 2, 0)
		each("VCVTTPS2DQ %s, %[1]s", 2)
		each("VPSLLD $23, %s, %[1]s", 2)
	}
	each("VMOVAPS %s, %s", 7+len(exp2), 4)
	for i := len(exp2) - 2; i >= 0; i-- {
		each("VFMADD213PS %s, %s, %s", 8+i, fraction, 4)
	}
	each("VFMADD213PS %s, %s, %s", 14, fraction, 4)
	if t.wide() {
		each("VSCALEFPS %s, %s, %[2]s", 0, 4)
	} else {
		each("VPADDD %s, %s, %[2]s", 2, 4)
	}
}

// weights writes the weights of each row, and adds them to its total.
func (t weighX86) weights() {
	t.op("MOVQ weigh_scores(SI), DI")
	t.op("MOVQ weigh_weights(SI), R9")
	t.op("MOVQ weigh_rows(SI), R8")
	t.op("MOVQ weigh_top(SI), R10")
	t.op("MOVQ weigh_total(SI), R11")
	sums, top, size := []int{6}, 7, 128
	if t.wide() {
		sums, top = []int{20, 21}, 22
	}
	if t.pairs {
		size = 64
	}
	t.label("row")
	t.op("MOVQ DI, AX")
	t.op("MOVQ R9, BX")
	t.op("VBROADCASTSS (R10), %s", t.v(top))
	for _, s := range sums {
		t.zero(s)
	}
	t.columns32(func() {
		for i := 0; i < 32/t.lanes(); i += 2 {
			t.two(i*t.bytes(), top, sums)
		}
	}, "ADDQ $128, AX", fmt.Sprintf("ADDQ $%d, BX", size))
	sum := sums[0]
	for _, s := range sums[1:] {
		t.op("VADDPS %s, %s, %[2]s", t.v(s), t.v(sum))
	}
	t.fold("VADDPS", sum, 0)
	t.op("VADDSS (R11), X%d, X%[1]d", sum)
	t.op("VMOVSS X%d, (R11)", sum)
	t.op("ADDQ $4, R10")
	t.op("ADDQ $4, R11")
	t.op("ADDQ $(4*const_flashKeys), DI")
	t.op("ADDQ $(%d*const_flashKeys), R9", size/32)
	t.op("DECQ R8")
	t.op("JNZ %s", t.at("row"))
}

// two writes the weights of two registers of scores.
func (t weighX86) two(at, top int, sums []int) {
	for i := range 2 {
		t.op("VMOVUPS %d(AX), %s", at+i*t.bytes(), t.v(i))
	}
	for i := range 2 {
		t.op("VSUBPS %s, %s, %[2]s", t.v(top), t.v(i))
	}
	t.exp2(2)
	if t.pairs {
		t.evex(vcvtne2ps2bf16, 0, 5, 4)
		t.op("VMOVUPS Z0, (BX)")
		t.evex(vdpbf16ps, sums[0], 0, 23)
		return
	}
	for i := range 2 {
		t.op("VMOVUPS %s, %d(BX)", t.v(4+i), at+i*t.bytes())
		t.op("VADDPS %s, %s, %[2]s", t.v(4+i), t.v(sums[i%len(sums)]))
	}
}
