package main

import "fmt"

// A gemmX86 has the sums of rows x 2 registers of columns in registers: all 32
// columns of a panel where registers are wide, else one half after the other.
//
//	Z0-Z23 / Y0-Y11  sums: row r has 2r and 2r+1
//	Z28-Z29 / Y12-Y13  a row of b
//	Z24-Z27 / Y14-Y15  numbers of a, each in all lanes
//	SI  the gemm; AX, R10, R11, R12 rows 0, 3, 6 and 9 of a, BX bytes apart
//	R13 CX  b: the panel, and the row of it; DX rows to go
//	DI R8   c and the distance of its rows; R9 panels, or halves, to go
type gemmX86 struct {
	x86
	form
	rows int
}

// A form is one of kernel's, of b.
type form string

const (
	formF32   form = "F32"
	formBF16  form = "BF16"
	formF16   form = "F16"
	formPairs form = "Pairs"
)

var gemmParam = param{"t", "*gemm"}

var rowBases = []string{"AX", "R10", "R11", "R12"}

func (x x86) gemm() {
	forms, rows := []form{formF32, formBF16, formF16}, 6
	if x.wide() {
		forms, rows = append(forms, formPairs), 12
	}
	x.function("gemm"+x.set, "is the gemm function of "+x.set+".", gemmParam)
	x.op("MOVQ t+0(FP), SI")
	x.op("MOVQ gemm_aStride(SI), BX")
	x.op("SHLQ $2, BX")
	x.op("MOVQ gemm_cStride(SI), R8")
	x.op("SHLQ $2, R8")
	x.op("MOVQ gemm_b(SI), R13")
	x.op("MOVQ gemm_c(SI), DI")
	x.op("MOVQ gemm_panels(SI), R9")
	if !x.wide() {
		x.op("SHLQ $1, R9")
	}
	x.op("MOVQ gemm_rows(SI), AX")
	x.op("MOVQ gemm_form(SI), CX")
	for _, f := range forms[1:] {
		x.op("CMPQ CX, $const_form%s", f)
		x.op("JEQ %s", x.at(string(f)))
	}
	for _, f := range forms {
		x.label(string(f))
		for r := 1; r < rows; r++ {
			x.op("CMPQ AX, $%d", r)
			x.op("JEQ %s", gemmX86{x, f, r}.at(""))
		}
		for r := rows; r > 0; r-- {
			gemmX86{x, f, r}.body()
		}
	}
}

func (t gemmX86) at(name string) string {
	return t.x86.at(fmt.Sprintf("%sx%d%s", t.form, t.rows, name))
}

func (t gemmX86) label(name string) { t.op("%s:", t.at(name)) }

// half is the bytes of b in a register.
func (t gemmX86) half() int {
	if t.form == formBF16 || t.form == formF16 {
		return t.bytes() / 2
	}
	return t.bytes()
}

// rowOfB is the bytes of a row of a panel.
func (t gemmX86) rowOfB() int { return t.half() * 32 / t.lanes() }

func (t gemmX86) body() {
	t.label("")
	t.op("MOVQ gemm_a(SI), AX")
	for i := 1; 3*i < t.rows; i++ {
		t.op("LEAQ (%s)(BX*2), %s", rowBases[i-1], rowBases[i])
		t.op("ADDQ BX, %s", rowBases[i])
	}
	t.op("MOVQ R13, CX")
	t.op("MOVQ gemm_k(SI), DX")
	for n := range 2 * t.rows {
		t.zero(n)
	}
	t.label("k")
	t.step()
	t.op("DECQ DX")
	t.op("JNZ %s", t.at("k"))
	t.add()
	t.store()
	t.next()
}

// step adds the products of a number of each row of a with a row of b.
func (t gemmX86) step() {
	b, a := 28, []int{24, 25, 26, 27}
	if !t.wide() {
		b, a = 12, []int{14, 15}
	}
	for n := range 2 {
		t.load(fmt.Sprintf("%d(CX)", n*t.half()), b+n)
	}
	t.op("ADDQ $%d, CX", t.rowOfB())
	for r := range t.rows {
		address, f := "("+rowBases[r/3]+")", a[r%len(a)]
		if r%3 > 0 {
			address += fmt.Sprintf("(BX*%d)", r%3)
		}
		t.op("VBROADCASTSS %s, %s", address, t.v(f))
		for n := range 2 {
			if t.form == formPairs {
				t.evex(vdpbf16ps, 2*r+n, b+n, f)
			} else {
				t.op("VFMADD231PS %s, %s, %s", t.v(f), t.v(b+n), t.v(2*r+n))
			}
		}
	}
	for i := 0; 3*i < t.rows; i++ {
		t.op("ADDQ $4, %s", rowBases[i])
	}
}

// load loads a register of b as it is multiplied.
func (t gemmX86) load(address string, n int) {
	switch t.form {
	case formBF16:
		t.op("VPMOVZXWD %s, %s", address, t.v(n))
		t.op("VPSLLD $16, %s, %[1]s", t.v(n))
	case formF16:
		t.op("VCVTPH2PS %s, %s", address, t.v(n))
	default:
		t.op("VMOVUPS %s, %s", address, t.v(n))
	}
}

// add adds c times fall of its row.
func (t gemmX86) add() {
	f := 24
	if !t.wide() {
		f = 12
	}
	t.op("MOVQ gemm_fall(SI), AX")
	t.op("TESTQ AX, AX")
	t.op("JZ %s", t.at("store"))
	t.op("MOVQ DI, CX")
	for r := range t.rows {
		t.op("VBROADCASTSS %d(AX), %s", 4*r, t.v(f+r%2))
		for n := range 2 {
			t.op("VFMADD231PS %d(CX), %s, %s", n*t.bytes(), t.v(f+r%2), t.v(2*r+n))
		}
		t.op("ADDQ R8, CX")
	}
}

func (t gemmX86) store() {
	t.label("store")
	t.op("MOVQ DI, CX")
	for r := range t.rows {
		for n := range 2 {
			t.op("VMOVUPS %s, %d(CX)", t.v(2*r+n), n*t.bytes())
		}
		if r < t.rows-1 {
			t.op("ADDQ R8, CX")
		}
	}
}

// next goes on to the next panel, or half of one.
func (t gemmX86) next() {
	t.op("ADDQ $%d, DI", 2*t.bytes())
	if t.wide() {
		t.op("MOVQ gemm_bStride(SI), CX")
		t.op("LEAQ (R13)(CX*4), R13")
		t.op("DECQ R9")
		t.op("JNZ %s", t.at(""))
	} else {
		t.op("ADDQ $%d, R13", 2*t.half())
		t.op("DECQ R9")
		t.op("TESTQ $1, R9")
		t.op("JNZ %s", t.at("")) // the other half
		t.op("MOVQ gemm_bStride(SI), CX")
		t.op("LEAQ %d(R13)(CX*4), R13", -4*t.half())
		t.op("TESTQ R9, R9")
		t.op("JNZ %s", t.at(""))
	}
	t.done()
}
