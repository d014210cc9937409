package main

import "fmt"

// A packX86 brings rows of a state into panels. Wide registers load the rest of
// a row under a mask; else what is no whole register is left to the caller.
//
//	SI the rowPanel; R8, R10 the state and the place in a row; R13 elements to go
//	DI the panel; DX, CX the row of it, and the row of the state
type packX86 struct {
	x86
	form
	together bool // pairs stay as they lie
}

var packParam = param{"t", "*rowPanel"}

func (x x86) pack(name string, forms []form, body func(t packX86)) {
	x.function(name+x.set, "is the "+name+" function of "+x.set+".", packParam)
	x.op("MOVQ t+0(FP), SI")
	x.op("MOVQ rowPanel_src(SI), R8")
	x.op("MOVQ rowPanel_dst(SI), DI")
	x.op("MOVQ rowPanel_n(SI), R13")
	x.op("XORQ R10, R10")
	x.op("MOVQ rowPanel_form(SI), AX")
	for _, f := range forms[1:] {
		x.op("CMPQ AX, $const_form%s", f)
		x.op("JEQ %s", packX86{x86: x, form: f}.at(""))
	}
	for _, f := range forms {
		t := packX86{x86: x, form: f}
		t.label("")
		body(t)
		x.done()
	}
}

func (t packX86) at(name string) string { return t.x86.at(fmt.Sprint(t.form, name)) }

func (t packX86) label(name string) { t.op("%s:", t.at(name)) }

func (x x86) forms() []form {
	if x.wide() {
		return []form{formF32, formBF16, formPairs}
	}
	return []form{formF32, formBF16}
}

// chunks writes a loop over some registers of elements of each row at a time.
// Wide registers are loaded under the masks K1, K2.
func (t packX86) chunks(registers int, body func()) {
	n := registers * t.perRegister()
	t.label("chunk")
	if t.wide() {
		t.op("MOVL $%d, AX", n)
		t.op("CMPQ R13, AX")
		t.op("CMOVQLT R13, AX")
		t.op("MOVQ $-1, BX")
		t.op("BZHIQ AX, BX, BX")
		t.op("KMOVD BX, K1")
		t.op("SHRQ $%d, BX", t.perRegister())
		t.op("KMOVD BX, K2")
	} else {
		t.op("CMPQ R13, $%d", n)
		t.op("JLT %s", t.at("end"))
	}
	body()
	t.op("ADDQ $%d, R10", n*t.size())
	t.op("SUBQ $%d, R13", n)
	t.op("JGT %s", t.at("chunk"))
	t.label("end")
}

// size is the bytes of an element.
func (t packX86) size() int {
	if t.form == formF32 {
		return 4
	}
	return 2
}

// perRegister is how many elements a register takes: pairs are loaded by one
// where keys are packed, as they lie.
func (t packX86) perRegister() int {
	if t.form == formPairs && t.together {
		return 2 * t.lanes()
	}
	return t.lanes()
}

// load loads register n with the elements from off bytes on of the chunk of the
// row that starts at AX, under mask k.
func (t packX86) load(off, k, n int) {
	address := fmt.Sprintf("%d(R8)(AX*1)", off)
	switch {
	case t.form == formPairs && t.together:
		t.op("VMOVDQU16.Z %s, K%d, %s", address, k, t.v(n))
	case t.form == formF32 && t.wide():
		t.op("VMOVUPS.Z %s, K%d, %s", address, k, t.v(n))
	case t.form == formF32:
		t.op("VMOVUPS %s, %s", address, t.v(n))
	case t.wide():
		t.op("VPMOVZXWD.Z %s, K%d, %s", address, k, t.v(n))
	default:
		t.op("VPMOVZXWD %s, %s", address, t.v(n))
	}
	if t.form == formBF16 {
		t.op("VPSLLD $16, %s, %[1]s", t.v(n))
	}
}

// row sets AX to the place of the chunk in row i of at, and touches that of next.
func (t packX86) row(array string, i int) {
	t.op("MOVQ rowPanel_next+%d(%s), AX", 8*i, array)
	t.op("ADDQ R10, AX")
	t.op("PREFETCHT0 (R8)(AX*1)")
	t.op("MOVQ rowPanel_at+%d(%s), AX", 8*i, array)
	t.op("ADDQ R10, AX")
}

// packKeys transposes: a chunk of each key becomes a row of the panel for each of its words.
func (x x86) packKeys() {
	x.pack("packKeys", x.forms(), func(t packX86) {
		t.together = true
		t.chunks(1, func() {
			for key := 0; key < 32; key += t.lanes() {
				for i := range t.lanes() {
					t.row("SI", key+i)
					t.load(0, 1, i)
				}
				for i, r := range t.transpose() {
					t.op("VMOVUPS %s, %d(DI)", t.v(r), 128*i+4*key)
				}
			}
			t.op("ADDQ $%d, DI", 128*t.lanes())
		})
	})
}

// transpose transposes the words of registers 0 and on, and returns the registers of the result.
func (t packX86) transpose() []int {
	n := t.lanes()
	for i := 0; i < n; i += 2 { // pairs of rows
		t.op("VUNPCKLPS %s, %s, %s", t.v(i+1), t.v(i), t.v(n+i))
		t.op("VUNPCKHPS %s, %s, %s", t.v(i+1), t.v(i), t.v(n+i+1))
	}
	for i := 0; i < n; i += 4 { // in register i+j, lane l of 128 bits: word 4l+j of four rows
		for j := range 2 {
			t.op("VUNPCKLPD %s, %s, %s", t.v(n+i+j+2), t.v(n+i+j), t.v(i+2*j))
			t.op("VUNPCKHPD %s, %s, %s", t.v(n+i+j+2), t.v(n+i+j), t.v(i+2*j+1))
		}
	}
	out := make([]int, n)
	for i := range n {
		out[i] = n + i
	}
	if !t.wide() {
		for j := range 4 {
			t.op("VPERM2F128 $0x20, Y%d, Y%d, Y%d", 4+j, j, 8+j)
			t.op("VPERM2F128 $0x31, Y%d, Y%d, Y%d", 4+j, j, 12+j)
		}
		return out
	}
	for j := range 4 {
		for i, pattern := range []int{0x88, 0xdd} {
			t.op("VSHUFF32X4 $0x%x, Z%d, Z%d, Z%d", pattern, 4+j, j, 16+4*i+j)
			t.op("VSHUFF32X4 $0x%x, Z%d, Z%d, Z%d", pattern, 12+j, 8+j, 24+4*i+j)
		}
	}
	for j := range 4 {
		for i := range 2 {
			a, b := 16+4*i+j, 24+4*i+j
			t.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", b, a, 4*i+j)
			t.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", b, a, 8+4*i+j)
		}
	}
	for i := range n {
		out[i] = i
	}
	return out
}

// packValues copies: a chunk of each key becomes part of a row of a panel, of pairs
// one of two keys. The largest magnitudes go to most. Where registers are wide, a
// chunk is a row of a panel.
//
//	R12 chunks of the panel to go; R9 rows to go; registers 14 and 15: most, magnitude's bits
func (x x86) packValues() {
	x.pack("packValues", x.forms(), func(t packX86) {
		registers, keys, magnitude, largest := 1, 1, uint32(0x7fffffff), "VPMAXUD"
		if t.wide() {
			registers = 2
		}
		if t.form == formPairs {
			keys, magnitude, largest = 2, 0x7fff7fff, "VPMAXUW"
		}
		perPanel := 32 / t.lanes() / registers
		t.constant(15, magnitude)
		t.op("VMOVUPS rowPanel_most(SI), %s", t.v(14))
		t.op("MOVQ $%d, R12", perPanel)
		t.chunks(registers, func() {
			t.op("MOVQ SI, CX")
			t.op("MOVQ DI, DX")
			t.op("MOVQ $%d, R9", 32/keys)
			t.label("row")
			for key := range keys {
				t.row("CX", key)
				for i := range registers {
					t.load(i*t.lanes()*t.size(), 1+i, 2*i+key)
				}
			}
			for i := range registers {
				v := t.v(2 * i)
				if t.form == formPairs {
					t.op("VPSLLD $16, %s, %[1]s", t.v(2*i+1))
					t.op("VPORD %s, %s, %[2]s", t.v(2*i+1), v)
				}
				t.op("VMOVUPS %s, %d(DX)", v, i*t.bytes())
				t.op("%s %s, %s, %[3]s", t.bitwise("VPAND"), t.v(15), v)
				t.op("%s %s, %s, %[3]s", largest, v, t.v(14))
			}
			t.op("ADDQ $%d, CX", 8*keys)
			t.op("ADDQ $128, DX")
			t.op("DECQ R9")
			t.op("JNZ %s", t.at("row"))
			t.op("ADDQ $%d, DI", registers*t.bytes())
			t.op("DECQ R12")
			t.op("JNZ %s", t.at("within"))
			t.op("MOVQ $%d, R12", perPanel)
			t.op("MOVQ rowPanel_stride(SI), AX")
			t.op("LEAQ -128(DI)(AX*4), DI")
			t.label("within")
		})
		t.op("VMOVUPS %s, rowPanel_most(SI)", t.v(14))
	})
}

// scale multiplies a row by a factor, of pairs into bfloat16, and touches the row
// at ahead. No zero has a sign.
func (x x86) scale(pairs bool) {
	name, doc, size := "scale", "sets n numbers to src*factor.", 4
	if pairs {
		name, doc, size = "scalePairs", "sets n bfloat16 to src*factor.", 2
	}
	x.function(name+x.set, doc, param{"dst", "*float32"}, param{"src", "*float32"}, param{"factor", "float32"}, param{"n", "int"}, param{"ahead", "*float32"})
	x.op("MOVQ dst+0(FP), DI")
	x.op("MOVQ src+8(FP), SI")
	x.op("MOVQ n+24(FP), CX")
	x.op("MOVQ ahead+32(FP), DX")
	x.op("VBROADCASTSS factor+16(FP), %s", x.v(1))
	x.zero(2)
	x.op("SUBQ $%d, CX", x.lanes())
	x.op("JLT %s", x.at("rest"))
	x.label("loop")
	x.op("PREFETCHT0 (DX)")
	x.op("ADDQ $%d, DX", x.bytes())
	x.scaled("(SI)", x.v(0), "VMOVUPS", "VFMADD213PS")
	if pairs {
		x.evex(vcvtneps2bf16, 0, 0, 0)
		x.op("VMOVUPS Y0, (DI)")
	} else {
		x.op("VMOVUPS %s, (DI)", x.v(0))
	}
	x.op("ADDQ $%d, SI", x.bytes())
	x.op("ADDQ $%d, DI", size*x.lanes())
	x.op("SUBQ $%d, CX", x.lanes())
	x.op("JGE %s", x.at("loop"))
	x.label("rest")
	x.op("ADDQ $%d, CX", x.lanes())
	x.op("JZ %s", x.at("end"))
	x.label("one")
	x.scaled("(SI)", "X0", "VMOVSS", "VFMADD213SS")
	if pairs {
		x.evex(vcvtneps2bf16, 0, 0, 0)
		x.op("VPEXTRW $0, X0, (DI)")
	} else {
		x.op("VMOVSS X0, (DI)")
	}
	x.op("ADDQ $4, SI")
	x.op("ADDQ $%d, DI", size)
	x.op("DECQ CX")
	x.op("JNZ %s", x.at("one"))
	x.label("end")
	x.done()
}

// scaled sets a register to what is at an address times register 1.
func (x x86) scaled(address, register, load, multiply string) {
	one, zero := register[:1]+"1", register[:1]+"2"
	x.op("%s %s, %s", load, address, register)
	x.op("%s %s, %s, %s", multiply, zero, one, register)
}
