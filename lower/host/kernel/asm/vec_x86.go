package main

import "fmt"

// A vecX86 writes AVX-512 (F, BW, DQ) if wide, else AVX2 with FMA and F16C.
//
//	AX   the arguments   R8  n less what is past the last whole vector
//	CX   scratch         DX  the element of each
//	K1 or Y15  the lanes of the rest   K2 scratch
type vecX86 struct {
	*source
	wide      bool
	constants *vecConstants
	general   int  // registers of vecX86Registers in use
	labels    int  // so far
	rest      bool // the body is that of the rest
}

var vecX86Registers = []string{"SI", "DI", "BX", "R9", "R10", "R11", "R12", "R13"}

var vecX86Ops = map[string]string{
	"add": "VADDPS", "sub": "VSUBPS", "mul": "VMULPS", "div": "VDIVPS", "min": "VMINPS", "max": "VMAXPS",
	"fma": "VFMADD231PS", "fnma": "VFNMADD231PS", "horner": "VFMADD213PS", "and": "VANDPS", "or": "VORPS",
	"add.i": "VPADDD", "sub.i": "VPSUBD", "min.i": "VPMINSD", "max.i": "VPMAXSD",
	"add.d": "VADDPD", "sub.d": "VSUBPD", "mul.d": "VMULPD", "fma.d": "VFMADD231PD", "horner.d": "VFMADD213PD",
	"and.d": "VANDPD", "xor.d": "VXORPD",
	"left": "VPSLLD", "right": "VPSRLD", "arithmetic": "VPSRAD", "left.d": "VPSLLQ",
}

func (m *vecX86) lanes() int {
	if m.wide {
		return 16
	}
	return 8
}

func (m *vecX86) limit() int { return 2*m.lanes() - 1 }

// v, half and quarter are a register by its size.
func (m *vecX86) v(o operand) string       { return fmt.Sprint(m.letter("Z", "Y"), o.reg) }
func (m *vecX86) half(o operand) string    { return fmt.Sprint(m.letter("Y", "X"), o.reg) }
func (m *vecX86) quarter(o operand) string { return fmt.Sprint("X", o.reg) }

func (m *vecX86) letter(wide, narrow string) string {
	if m.wide {
		return wide
	}
	return narrow
}

func (m *vecX86) take() string {
	m.general++
	return vecX86Registers[m.general-1]
}

func (m *vecX86) newLabel() int {
	m.labels++
	return m.labels
}

func (m *vecX86) begin(out *source) {
	out.op("MOVQ vecArgs_n(AX), R8")
	out.op("MOVQ R8, CX")
	out.op("ANDQ $-%d, R8", m.lanes())
	out.op("ANDQ $%d, CX", m.lanes()-1)
	if m.wide {
		out.op("MOVL $1, DX")
		out.op("SHLL CX, DX")
		out.op("DECL DX")
		out.op("KMOVW DX, K1")
		return
	}
	out.op("NEGQ CX")
	out.op("LEAQ vecRest<>+32(SB), DX")
	out.op("VMOVUPS (DX)(CX*4), Y15")
}

func (m *vecX86) end(out *source) {
	out.op("VZEROUPPER")
	out.op("RET")
}

func (m *vecX86) pointer(field string, size int) *pointer {
	p := &pointer{field: field, stride: field + "Stride", base: m.take(), size: size}
	m.source.op("MOVQ vecArgs_%s(AX), %s", field, p.base)
	return p
}

func (m *vecX86) advance(p *pointer, field string) {
	m.source.op("ADDQ vecArgs_%s(AX), %s", field, p.base)
}

func (m *vecX86) step(p *pointer, field string) { m.advance(p, field) }

func (m *vecX86) skip(p *pointer, bytes int) { m.source.op("ADDQ $%d, %s", bytes, p.base) }

func (m *vecX86) rowOf(p, index *pointer, stride string) {
	m.source.op("MOVLQSX (%s), %s", index.base, p.base)
	m.source.op("IMULQ vecArgs_%s(AX), %s", stride, p.base)
	m.advance(p, p.field)
}

func (m *vecX86) each(body func(), _ ...*pointer) {
	n := m.newLabel()
	loop, rest, done := fmt.Sprint("each", n), fmt.Sprint("rest", n), fmt.Sprint("done", n)
	m.source.op("XORL DX, DX")
	m.source.op("TESTQ R8, R8")
	m.source.op("JEQ %s", m.at(rest))
	m.label(loop)
	body()
	m.source.op("ADDQ $%d, DX", m.lanes())
	m.source.op("CMPQ DX, R8")
	m.source.op("JLT %s", m.at(loop))
	m.label(rest)
	m.source.op("CMPQ R8, vecArgs_n(AX)")
	m.source.op("JEQ %s", m.at(done))
	m.rest = true
	body()
	m.rest = false
	m.label(done)
}

func (m *vecX86) times(field string, body func()) {
	loop, count := fmt.Sprint("times", m.newLabel()), m.take()
	m.source.op("MOVQ vecArgs_%s(AX), %s", field, count)
	m.label(loop)
	body()
	m.source.op("DECQ %s", count)
	m.source.op("JNE %s", m.at(loop))
	m.general--
}

// address is that of the element of each.
func (m *vecX86) address(p *pointer) string { return fmt.Sprintf("(%s)(DX*%d)", p.base, p.size) }

// masked writes an instruction with a mask if it is for the rest: of a load, dead
// lanes become zeros.
func (m *vecX86) masked(name, from, to string, load bool) {
	mask := ""
	if m.rest {
		mask = "K1, "
		if load {
			name += ".Z"
		}
	}
	m.source.op("%s %s, %s%s", name, from, mask, to)
}

func (m *vecX86) load(d operand, p *pointer, dead ...operand) {
	switch {
	case m.rest && m.wide && len(dead) > 0:
		m.set(d, dead[0])
		m.source.op("VMOVUPS %s, K1, %s", m.address(p), m.v(d))
	case m.rest && !m.wide:
		m.source.op("VMASKMOVPS %s, Y15, %s", m.address(p), m.v(d))
		if len(dead) > 0 {
			m.source.op("VBLENDVPS Y15, %s, %s, %[1]s", m.v(d), m.v(dead[0]))
		}
	default:
		m.masked("VMOVUPS", m.address(p), m.v(d), true)
	}
}

func (m *vecX86) store(p *pointer, s operand) {
	if m.rest && !m.wide {
		m.source.op("VMASKMOVPS %s, Y15, %s", m.v(s), m.address(p))
		return
	}
	m.masked("VMOVUPS", m.v(s), m.address(p), false)
}

func (m *vecX86) loadDouble(d operand, p *pointer, half int) {
	m.source.op("VMOVUPD %d%s, %s", half*m.lanes()*4, m.address(p), m.v(d))
}

func (m *vecX86) prefetch(p *pointer) { m.source.op("PREFETCHT0 %s", m.address(p)) }

func (m *vecX86) broadcast(d operand, p *pointer) {
	m.source.op("VBROADCASTSS (%s), %s", p.base, m.v(d))
}

func (m *vecX86) broadcastInt(d operand, p *pointer) {
	m.source.op("VPBROADCASTD (%s), %s", p.base, m.half(d))
	m.source.op("VCVTDQ2PD %s, %s", m.half(d), m.v(d))
}

func (m *vecX86) storeOne(p *pointer, s operand) {
	m.source.op("VMOVSS %s, (%s)", m.quarter(s), p.base)
}

func (m *vecX86) field(d operand, field string, size int) {
	m.source.op("VBROADCASTS%s vecArgs_%s(AX), %s", map[int]string{4: "S", 8: "D"}[size], field, m.v(d))
}
