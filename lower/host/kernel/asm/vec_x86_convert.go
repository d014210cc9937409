package main

import (
	"fmt"
	"strings"
)

func (m *vecX86) set(d, s operand) {
	switch {
	case s.constant() && s.bits == 0:
		m.op("xor.d", d, d, d)
	case s.constant() && s.size == 4:
		m.source.op("VBROADCASTSS %s, %s", m.constants.at(s), m.v(d))
	case s.constant():
		m.source.op("VBROADCASTSD %s, %s", m.constants.at(s), m.v(d))
	default:
		m.source.op("VMOVAPS %s, %s", m.v(s), m.v(d))
	}
}

func (m *vecX86) instruction(name string) string {
	if vecX86Ops[name] == "" {
		panic("no instruction " + name)
	}
	return vecX86Ops[name]
}

func (m *vecX86) op(name string, d, a, b operand) {
	last, broadcast := "", ""
	if !b.constant() {
		last = m.v(b)
	} else if last = m.constants.at(b); m.wide {
		broadcast = ".BCST"
	}
	m.source.op("%s%s %s, %s, %s", m.instruction(name), broadcast, last, m.v(a), m.v(d))
}

func (m *vecX86) shift(name string, d, a operand, n int) {
	m.source.op("%s $%d, %s, %s", m.instruction(name), n, m.v(a), m.v(d))
}

func (m *vecX86) round(d, a operand) {
	m.source.op("%s $0, %s, %s", m.letter("VRNDSCALEPS", "VROUNDPS"), m.v(a), m.v(d))
}

func (m *vecX86) toInt(d, a operand) { m.source.op("VCVTPS2DQ %s, %s", m.v(a), m.v(d)) }

func (m *vecX86) scale(d, n, t operand) {
	if m.wide {
		m.source.op("VSCALEFPS %s, %s, %s", m.v(n), m.v(d), m.v(d))
		return
	}
	scaleTwice(m, d, n, t)
}

func (m *vecX86) choose(d, sign, minus, plus operand, f64 bool) {
	width, letter := "D", "S"
	if f64 {
		width, letter = "Q", "D"
	}
	if m.wide {
		m.source.op("VPMOV%s2M %s, K2", width, m.v(sign))
		m.source.op("VBLENDMP%s %s, %s, K2, %s", letter, m.v(minus), m.v(plus), m.v(d))
		return
	}
	m.source.op("VBLENDVP%s %s, %s, %s, %s", letter, m.v(sign), m.v(minus), m.v(plus), m.v(d))
}

func (m *vecX86) widen(low, high, s operand) {
	m.source.op("VCVTPS2PD %s, %s", m.half(s), m.v(low))
	m.source.op("%s $1, %s, %s", m.letter("VEXTRACTF64X4", "VEXTRACTF128"), m.v(s), m.half(high))
	m.source.op("VCVTPS2PD %s, %s", m.half(high), m.v(high))
}

func (m *vecX86) narrow(d, low, high operand) {
	convert := m.letter("VCVTPD2PS", "VCVTPD2PSY")
	m.source.op("%s %s, %s", convert, m.v(low), m.half(d))
	m.source.op("%s %s, %s", convert, m.v(high), m.half(high))
	m.source.op("%s $1, %s, %s, %s", m.letter("VINSERTF64X4", "VINSERTF128"), m.half(high), m.v(d), m.v(d))
}

func (m *vecX86) swap(d, s operand) { m.source.op("VPERMILPS $0xb1, %s, %s", m.v(s), m.v(d)) }

// reduce exchanges halves, quarters and so on.
func (m *vecX86) reduce(name string, d, t operand) {
	exchanges := []string{"VPERM2F128 $1, %s, %[1]s, %s", "VPERMILPS $0x4e, %s, %s", "VPERMILPS $0xb1, %s, %s"}
	if m.wide {
		exchanges = append([]string{"VSHUFF64X2 $0x4e, %s, %[1]s, %s", "VSHUFF64X2 $0xb1, %s, %[1]s, %s"}, exchanges[1:]...)
	}
	if strings.HasSuffix(name, ".d") {
		exchanges = exchanges[:len(exchanges)-1]
	}
	for _, e := range exchanges {
		m.source.op(e, m.v(d), m.v(t))
		m.op(name, d, d, t)
	}
}

func (m *vecX86) inverseRoot(d, s operand) {
	x, y := m.quarter(s), m.quarter(d)
	m.source.op("VSQRTSD %s, %[1]s, %[1]s", x)
	m.source.op("VMOVSD %s, %s", m.constants.at(double(1)), y)
	m.source.op("VDIVSD %s, %s, %[2]s", x, y)
	m.source.op("VCVTSD2SS %s, %[1]s, %[1]s", y)
	m.source.op("VBROADCASTSS %s, %s", y, m.v(d))
}

func (m *vecX86) load16(d operand, p *pointer, half bool) {
	convert, from := "VPMOVZXWD", m.address(p)
	if half {
		convert = "VCVTPH2PS"
	}
	if m.rest && !m.wide {
		from = m.quarter(d)
		m.loadPieces(from, p)
	}
	if m.wide {
		m.masked(convert, from, m.v(d), true)
	} else {
		m.source.op("%s %s, %s", convert, from, m.v(d))
	}
}

func (m *vecX86) store16(p *pointer, s operand, half bool) {
	convert := "VPMOVDW"
	if half {
		convert = "VCVTPS2PH $0,"
	}
	switch {
	case m.wide:
		m.masked(convert, m.v(s), m.address(p), false)
		return
	case half:
		m.source.op("%s %s, %s", convert, m.v(s), m.quarter(s))
	default:
		m.pack("VPACKUSDW", s)
	}
	m.storePacked(p, s)
}

func (m *vecX86) store8(p *pointer, s operand) {
	if m.wide {
		m.masked("VPMOVDB", m.v(s), m.address(p), false)
		return
	}
	m.pack("VPACKSSDW", s)
	m.source.op("VPACKSSWB %s, %[1]s, %[1]s", m.quarter(s))
	m.storePacked(p, s)
}

// pack makes eight i32 the 16-bit numbers of the first half.
func (m *vecX86) pack(instruction string, s operand) {
	m.source.op("%s %s, %[2]s, %[2]s", instruction, m.v(s))
	m.source.op("VPERMQ $0xd8, %s, %[1]s", m.v(s))
}

// vecX86Moves move so many bytes between memory and the start of a register.
var vecX86Moves = map[int]struct{ load, store string }{
	1:  {"", "VPEXTRB $0,"},
	2:  {"VPINSRW $0,", "VPEXTRW $0,"},
	4:  {"VPINSRD $0,", "VMOVD"},
	8:  {"VPINSRQ $0,", "VMOVQ"},
	16: {"", "VMOVUPS"},
}

// storePacked stores eight elements, or four, two and one of the rest.
func (m *vecX86) storePacked(p *pointer, s operand) {
	x := m.quarter(s)
	if !m.rest {
		m.source.op("%s %s, %s", vecX86Moves[8*p.size].store, x, m.address(p))
		return
	}
	m.source.op("LEAQ %s, CX", m.address(p))
	for _, n := range []int{4, 2, 1} {
		done := fmt.Sprint("stored", m.newLabel())
		m.source.op("TESTQ $%d, vecArgs_n(AX)", n)
		m.source.op("JEQ %s", m.at(done))
		m.source.op("%s %s, (CX)", vecX86Moves[n*p.size].store, x)
		m.source.op("VPSRLDQ $%d, %s, %[2]s", n*p.size, x)
		m.source.op("ADDQ $%d, CX", n*p.size)
		m.label(done)
	}
}

// loadPieces loads the elements of the rest, the last first.
func (m *vecX86) loadPieces(x string, p *pointer) {
	m.source.op("MOVQ vecArgs_n(AX), CX")
	m.source.op("LEAQ (%s)(CX*%d), CX", p.base, p.size)
	m.source.op("VPXOR %s, %[1]s, %[1]s", x)
	for _, n := range []int{1, 2, 4} {
		done := fmt.Sprint("loaded", m.newLabel())
		m.source.op("TESTQ $%d, vecArgs_n(AX)", n)
		m.source.op("JEQ %s", m.at(done))
		m.source.op("SUBQ $%d, CX", n*p.size)
		m.source.op("VPSLLDQ $%d, %s, %[2]s", n*p.size, x)
		m.source.op("%s (CX), %s, %[2]s", vecX86Moves[n*p.size].load, x)
		m.label(done)
	}
}

// vecConstants are the constants of the kernels of a file, 32 bytes each: a whole
// vector for AVX2, and broadcast by AVX-512.
type vecConstants struct{ list []operand }

func (c *vecConstants) at(o operand) string {
	for i, have := range c.list {
		if have == o {
			return fmt.Sprintf("vecConstants<>+%d(SB)", 32*i)
		}
	}
	c.list = append(c.list, o)
	return c.at(o)
}

func (c *vecConstants) write(s *source) {
	for i, o := range c.list {
		bits := o.bits
		if o.size == 4 {
			bits |= bits << 32
		}
		for j := range 4 {
			s.op("DATA vecConstants<>+%d(SB)/8, $0x%016x", 32*i+8*j, bits)
		}
	}
	s.op("GLOBL vecConstants<>(SB), RODATA|NOPTR, $%d", 32*len(c.list))
	for i := range 8 {
		bits := uint64(1<<64 - 1)
		if i >= 4 {
			bits = 0
		}
		s.op("DATA vecRest<>+%d(SB)/8, $0x%016x", 8*i, bits)
	}
	s.op("GLOBL vecRest<>(SB), RODATA|NOPTR, $64")
}
