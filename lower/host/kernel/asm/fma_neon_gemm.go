package main

import "fmt"

// A gemmNeon has the sums of up to six rows of 16 columns in registers: half of a
// panel after the other.
//
//	V0-V23   sums: row r has V4r to V4r+3
//	V24-V29  four numbers of each row of a; at the end, of c
//	V30-V31  eight columns of a row of b
//	R0  the gemm; R1-R6 rows of a, R16 bytes apart
//	R7 R8  b: the panel, and the row of it; R9 rows to go
//	R10 R11  c and the distance of its rows; R12 halves to go; R13 fall; R14 row of c
type gemmNeon struct {
	neon
	form
	rows int
}

func (n neon) gemm() {
	const most = 6
	n.function("gemmNeon", "is the gemm function of Neon.", gemmParam)
	n.op("MOVD t+0(FP), R0")
	n.op("MOVD gemm_aStride(R0), R16")
	n.op("LSL $2, R16")
	n.op("MOVD gemm_b(R0), R7")
	n.op("MOVD gemm_c(R0), R10")
	n.op("MOVD gemm_cStride(R0), R11")
	n.op("LSL $2, R11")
	n.op("MOVD gemm_panels(R0), R12")
	n.op("LSL $1, R12")
	n.op("MOVD gemm_fall(R0), R13")
	n.op("MOVD gemm_rows(R0), R14")
	n.op("MOVD gemm_form(R0), R15")
	forms := []form{formF32, formBF16, formF16}
	for _, f := range forms[1:] {
		n.op("CMP $const_form%s, R15", f)
		n.op("BEQ %s", n.at(string(f)))
	}
	for _, f := range forms {
		n.label(string(f))
		for r := 1; r < most; r++ {
			n.op("CMP $%d, R14", r)
			n.op("BEQ %s", gemmNeon{n, f, r}.at(""))
		}
		for r := most; r > 0; r-- {
			gemmNeon{n, f, r}.body()
		}
	}
}

func (t gemmNeon) at(name string) string {
	return t.neon.at(fmt.Sprintf("%sx%d%s", t.form, t.rows, name))
}

func (t gemmNeon) label(name string) { t.op("%s:", t.at(name)) }

// size is the bytes of a number of b.
func (t gemmNeon) size() int {
	if t.form == formF32 {
		return 4
	}
	return 2
}

func (t gemmNeon) body() {
	t.label("")
	t.op("MOVD gemm_a(R0), R1")
	for r := 2; r <= t.rows; r++ {
		t.op("ADD R16, R%d, R%d", r-1, r)
	}
	t.op("MOVD R7, R8")
	t.op("MOVD gemm_k(R0), R9")
	for i := range 4 * t.rows {
		t.zero(i)
	}
	t.op("SUBS $4, R9")
	t.op("BLT %s", t.at("rest"))
	t.label("four")
	t.steps(4)
	t.op("SUBS $4, R9")
	t.op("BGE %s", t.at("four"))
	t.label("rest")
	t.op("ADDS $4, R9")
	t.op("BEQ %s", t.at("add"))
	t.label("one")
	t.steps(1)
	t.op("SUBS $1, R9")
	t.op("BNE %s", t.at("one"))
	t.add()
	t.next()
}

// steps adds the products of four numbers of each row of a, or one, with as many rows of b.
func (t gemmNeon) steps(k int) {
	move := map[int]string{1: "FMOVS.P 4(R%d), F%d", 4: "FMOVQ.P 16(R%d), F%d"}[k]
	for r := range t.rows {
		t.op(move, 1+r, 24+r)
	}
	for i := range k {
		for quad := 0; quad < 4; quad += 2 {
			t.load(32*i*t.size() + 4*quad*t.size())
			for r := range t.rows {
				t.laneWord("FMLA", 4*r+quad, 30, 24+r, i)
				t.laneWord("FMLA", 4*r+quad+1, 31, 24+r, i)
			}
		}
	}
	t.op("ADD $%d, R8", 32*k*t.size())
}

// load loads eight columns of b.
func (t gemmNeon) load(off int) {
	switch t.form {
	case formF32:
		t.op("FLDPQ %d(R8), (F30, F31)", off)
	case formBF16:
		t.op("FMOVQ %d(R8), F30", off)
		t.word("SHLL2", 31, 30)
		t.word("SHLL", 30, 30)
	case formF16:
		t.op("FMOVQ %d(R8), F30", off)
		t.word("FCVTL2", 31, 30)
		t.word("FCVTL", 30, 30)
	}
}

// add adds c times fall of its row, and stores.
func (t gemmNeon) add() {
	t.label("add")
	t.op("CBZ R13, %s", t.at("store"))
	t.op("MOVD R10, R14")
	for r := range t.rows {
		t.op("FMOVS %d(R13), F28", 4*r)
		for i := 0; i < 4; i += 2 {
			t.op("FLDPQ %d(R14), (F%d, F%d)", 16*i, 24+i, 25+i)
		}
		for i := range 4 {
			t.laneWord("FMLA", 4*r+i, 24+i, 28, 0)
		}
		t.op("ADD R11, R14")
	}
	t.label("store")
	t.op("MOVD R10, R14")
	for r := range t.rows {
		for i := 0; i < 4; i += 2 {
			t.op("FSTPQ (F%d, F%d), %d(R14)", 4*r+i, 4*r+i+1, 16*i)
		}
		t.op("ADD R11, R14")
	}
}

// next goes on to the next half of a panel.
func (t gemmNeon) next() {
	t.op("ADD $64, R10")
	t.op("ADD $%d, R7", 16*t.size())
	t.op("SUBS $1, R12")
	t.op("TBNZ $0, R12, %s", t.at("")) // the other half
	t.op("MOVD gemm_bStride(R0), R14")
	t.op("ADD R14<<2, R7")
	t.op("SUB $%d, R7", 32*t.size())
	t.op("CBNZ R12, %s", t.at(""))
	t.op("RET")
}
