package main

import "fmt"

// A packNeon brings rows of a state into panels, four elements at a time. What is
// left of a row is left to the caller.
//
//	R0  the rowPanel; R1, R2 the state and the place in a row; R3 elements to go
//	R4 R5  the panel and the row of it; R6 places of rows; R7 rows to go
//	R8  chunks of the panel to go; R9, R10 scratch
type packNeon struct {
	neon
	form
}

func (n neon) pack(name string, body func(t packNeon)) {
	n.function(name+"Neon", "is the "+name+" function of Neon.", packParam)
	n.op("MOVD t+0(FP), R0")
	n.op("MOVD rowPanel_src(R0), R1")
	n.op("MOVD ZR, R2")
	n.op("MOVD rowPanel_n(R0), R3")
	n.op("MOVD rowPanel_dst(R0), R4")
	n.op("MOVD rowPanel_form(R0), R9")
	n.op("CMP $const_formBF16, R9")
	n.op("BEQ %s", packNeon{n, formBF16}.at(""))
	for _, f := range []form{formF32, formBF16} {
		t := packNeon{n, f}
		t.label("")
		body(t)
		n.op("RET")
	}
}

func (t packNeon) at(name string) string { return t.neon.at(fmt.Sprint(t.form, name)) }

func (t packNeon) label(name string) { t.op("%s:", t.at(name)) }

// chunks writes a loop over four elements of each row at a time.
func (t packNeon) chunks(body func()) {
	t.op("SUBS $4, R3")
	t.op("BLT %s", t.at("end"))
	t.label("chunk")
	body()
	t.op("ADD $%d, R2", 4*t.size())
	t.op("SUBS $4, R3")
	t.op("BGE %s", t.at("chunk"))
	t.label("end")
}

// size is the bytes of an element.
func (t packNeon) size() int {
	if t.form == formBF16 {
		return 2
	}
	return 4
}

// load loads the chunk of the next row; R9 is R1+R2.
func (t packNeon) load(v int) {
	t.op("MOVD.P 8(R6), R10")
	t.op("ADD R9, R10")
	if t.form == formBF16 {
		t.op("FMOVD (R10), F%d", v)
		t.word("SHLL", v, v)
	} else {
		t.op("FMOVQ (R10), F%d", v)
	}
}

// packKeys transposes: a chunk of each key becomes a row of the panel for each of its elements.
func (n neon) packKeys() {
	n.pack("packKeys", func(t packNeon) {
		t.chunks(func() {
			t.op("MOVD $rowPanel_at(R0), R6")
			t.op("ADD R1, R2, R9")
			for key := 0; key < 32; key += 4 {
				for i := range 4 {
					t.load(i)
				}
				for i := 0; i < 4; i += 2 {
					t.op("VTRN1 V%d.S4, V%d.S4, V%d.S4", i+1, i, 4+i)
					t.op("VTRN2 V%d.S4, V%d.S4, V%d.S4", i+1, i, 5+i)
				}
				for i := range 2 {
					t.op("VTRN1 V%d.D2, V%d.D2, V%d.D2", 6+i, 4+i, i)
					t.op("VTRN2 V%d.D2, V%d.D2, V%d.D2", 6+i, 4+i, 2+i)
				}
				for i := range 4 {
					t.op("FMOVQ F%d, %d(R4)", i, 128*i+4*key)
				}
			}
			t.op("ADD $512, R4")
		})
	})
}

// packValues copies: a chunk of each key becomes part of a row of a panel. The
// largest magnitudes go to most.
//
//	V6, V7  most, a magnitude's bits
func (n neon) packValues() {
	n.pack("packValues", func(t packNeon) {
		t.constant(7, 0x7fffffff)
		t.op("MOVD $rowPanel_most(R0), R10")
		t.op("FMOVQ (R10), F6")
		t.op("MOVD $8, R8")
		t.chunks(func() {
			t.op("MOVD $rowPanel_at(R0), R6")
			t.op("ADD R1, R2, R9")
			t.op("MOVD R4, R5")
			t.op("MOVD $32, R7")
			t.label("row")
			t.load(0)
			t.op("FMOVQ F0, (R5)")
			t.op("ADD $128, R5")
			t.op("VAND V7.B16, V0.B16, V0.B16")
			t.op("VUMAX V0.S4, V6.S4, V6.S4")
			t.op("SUBS $1, R7")
			t.op("BNE %s", t.at("row"))
			t.op("ADD $16, R4")
			t.op("SUBS $1, R8")
			t.op("BNE %s", t.at("within"))
			t.op("MOVD $8, R8")
			t.op("MOVD rowPanel_stride(R0), R10")
			t.op("ADD R10<<2, R4")
			t.op("SUB $128, R4")
			t.label("within")
		})
		t.op("MOVD $rowPanel_most(R0), R10")
		t.op("FMOVQ F6, (R10)")
	})
}
