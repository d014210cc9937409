package main

import "fmt"

// A vecNeon writes the vector instructions of every arm64.
//
//	R0  the arguments          R4, R5    scratch
//	R1  whole vectors of a row V30, V31  scratch
//	R2  elements past them     V29 down  constants
//	R3  whole vectors left
type vecNeon struct {
	*source
	constants []operand // the first in V29
	general   int       // registers of vecNeonRegisters in use
	labels    int
	rest      bool
}

var vecNeonRegisters = []string{"R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R19", "R20", "R21", "R22", "R23", "R24", "R25"}

const neonScratch = 31 // with the one below

// vecNeonWords are the vector instructions, on 4S, 2D or all bits.
var vecNeonWords = map[string]struct {
	name string
	code uint32
}{
	"add": {"FADD.4S", 0x4e20d400}, "sub": {"FSUB.4S", 0x4ea0d400}, "mul": {"FMUL.4S", 0x6e20dc00}, "div": {"FDIV.4S", 0x6e20fc00},
	"min": {"FMIN.4S", 0x4ea0f400}, "max": {"FMAX.4S", 0x4e20f400}, "fma": {"FMLA.4S", 0x4e20cc00}, "fnma": {"FMLS.4S", 0x4ea0cc00},
	"and": {"AND", 0x4e201c00}, "or": {"ORR", 0x4ea01c00},
	"add.i": {"ADD.4S", 0x4ea08400}, "sub.i": {"SUB.4S", 0x6ea08400}, "min.i": {"SMIN.4S", 0x4ea06c00}, "max.i": {"SMAX.4S", 0x4ea06400},
	"add.d": {"FADD.2D", 0x4e60d400}, "sub.d": {"FSUB.2D", 0x4ee0d400}, "mul.d": {"FMUL.2D", 0x6e60dc00}, "fma.d": {"FMLA.2D", 0x4e60cc00},
	"and.d": {"AND", 0x4e201c00}, "xor.d": {"EOR", 0x6e201c00},
	"left": {"SHL.4S", 0x4f205400}, "right": {"USHR.4S", 0x6f200400}, "arithmetic": {"SSHR.4S", 0x4f200400},
	"left.d": {"SHL.2D", 0x4f405400}, "arithmetic.d": {"SSHR.2D", 0x4f400400},
	"choose": {"BSL", 0x6e601c00}, "round": {"FRINTN.4S", 0x4e218800}, "int": {"FCVTNS.4S", 0x4e21a800},
	"swap": {"REV64.4S", 0x4ea00800}, "halves": {"EXT.8", 0x6e004000},
	"widen": {"FCVTL.2D", 0x0e617800}, "widen high": {"FCVTL2.2D", 0x4e617800},
	"narrow": {"FCVTN.2S", 0x0e616800}, "narrow high": {"FCVTN2.4S", 0x4e616800},
	"half": {"FCVTN.4H", 0x0e216800}, "from half": {"FCVTL.4S", 0x0e217800},
	"16": {"XTN.4H", 0x0e612800}, "8": {"XTN.8B", 0x0e212800}, "from 16": {"UXTL.4S", 0x2f10a400},
}

// do writes one of them on registers d, n and m.
func (m *vecNeon) do(name string, registers ...int) {
	w, ok := vecNeonWords[name]
	if !ok {
		panic("no instruction " + name)
	}
	text := w.name
	for i, r := range registers {
		w.code |= uint32(r) << []int{0, 5, 16}[i]
		text += fmt.Sprintf(" V%d", r)
	}
	m.source.op("WORD $0x%08x // %s", w.code, text)
}

func (m *vecNeon) limit() int { return 30 - len(m.constants) }

// v is the register of an operand.
func (m *vecNeon) v(o operand) int {
	if !o.constant() {
		return o.reg
	}
	for i, have := range m.constants {
		if have == o {
			return 29 - i
		}
	}
	m.constants = append(m.constants, o)
	return m.v(o)
}

func (m *vecNeon) take() string {
	m.general++
	return vecNeonRegisters[m.general-1]
}

func (m *vecNeon) newLabel() int {
	m.labels++
	return m.labels
}

func (m *vecNeon) begin(out *source) {
	out.op("MOVD vecArgs_n(R0), R1")
	out.op("AND $3, R1, R2")
	out.op("LSR $2, R1")
	for i, c := range m.constants {
		out.op("MOVD $0x%x, R4", c.bits)
		out.op("VDUP R4, V%d.%s", 29-i, map[int]string{4: "S4", 8: "D2"}[c.size])
	}
}

func (m *vecNeon) end(out *source) { out.op("RET") }

func (m *vecNeon) pointer(field string, size int) *pointer {
	p := &pointer{field: field, stride: field + "Stride", base: m.take(), now: m.take(), size: size}
	m.source.op("MOVD vecArgs_%s(R0), %s", field, p.base)
	return p
}

func (m *vecNeon) add(field, register string) {
	m.source.op("MOVD vecArgs_%s(R0), R4", field)
	m.source.op("ADD R4, %s", register)
}

func (m *vecNeon) advance(p *pointer, field string) { m.add(field, p.base) }
func (m *vecNeon) step(p *pointer, field string)    { m.add(field, p.now) }
func (m *vecNeon) skip(p *pointer, bytes int)       { m.source.op("ADD $%d, %s", bytes, p.base) }

func (m *vecNeon) rowOf(p, index *pointer, stride string) {
	m.source.op("MOVW (%s), %s", index.base, p.base)
	m.source.op("MOVD vecArgs_%s(R0), R4", stride)
	m.source.op("MUL R4, %s", p.base)
	m.advance(p, p.field)
}

func (m *vecNeon) each(body func(), ps ...*pointer) {
	n := m.newLabel()
	loop, rest, done := fmt.Sprint("each", n), fmt.Sprint("rest", n), fmt.Sprint("done", n)
	for _, p := range ps {
		m.source.op("MOVD %s, %s", p.base, p.now)
	}
	m.source.op("MOVD R1, R3")
	m.source.op("CBZ R3, %s", m.at(rest))
	m.label(loop)
	body()
	for _, p := range ps {
		m.source.op("ADD $%d, %s", 4*p.size, p.now)
	}
	m.source.op("SUBS $1, R3")
	m.source.op("BNE %s", m.at(loop))
	m.label(rest)
	m.source.op("CBZ R2, %s", m.at(done))
	m.rest = true
	body()
	m.rest = false
	m.label(done)
}

func (m *vecNeon) times(field string, body func()) {
	loop, count := fmt.Sprint("times", m.newLabel()), m.take()
	m.source.op("MOVD vecArgs_%s(R0), %s", field, count)
	m.label(loop)
	body()
	m.source.op("SUBS $1, %s", count)
	m.source.op("BNE %s", m.at(loop))
	m.general--
}

func (m *vecNeon) load(d operand, p *pointer, dead ...operand) {
	if m.rest && len(dead) == 0 {
		dead = []operand{whole(0)}
	}
	if m.rest {
		m.set(d, dead[0])
	}
	m.move(p, d.reg, "load")
}

func (m *vecNeon) store(p *pointer, s operand) { m.move(p, s.reg, "store") }

// move loads or stores four elements, or the rest: one in lane 0, or two and the
// one in lane 2.
func (m *vecNeon) move(p *pointer, r int, direction string) {
	if !m.rest {
		register := map[int]string{4: "FMOVS", 8: "FMOVD", 16: "FMOVQ"}[4*p.size]
		if direction == "load" {
			m.source.op("%s (%s), F%d", register, p.now, r)
		} else {
			m.source.op("%s F%d, (%s)", register, r, p.now)
		}
		return
	}
	n := m.newLabel()
	two, done := fmt.Sprint("two", n), fmt.Sprint("moved", n)
	m.source.op("MOVD %s, R5", p.now)
	m.source.op("TBNZ $1, R2, %s", m.at(two))
	m.lane(r, 0, p.size, direction)
	m.source.op("JMP %s", m.at(done))
	m.label(two)
	m.lane(r, 0, 2*p.size, direction)
	m.source.op("TBZ $0, R2, %s", m.at(done))
	m.source.op("ADD $%d, R5", 2*p.size)
	m.lane(r, 2, p.size, direction)
	m.label(done)
}

func (m *vecNeon) lane(r, lane, size int, direction string) {
	name := fmt.Sprintf("V%d.%s[%d]", r, map[int]string{1: "B", 2: "H", 4: "S", 8: "D"}[size], lane)
	if direction == "load" {
		m.source.op("VLD1 (R5), %s", name)
	} else {
		m.source.op("VST1 %s, (R5)", name)
	}
}

func (m *vecNeon) loadDouble(d operand, p *pointer, half int) {
	m.source.op("FMOVQ %d(%s), F%d", 16*half, p.now, d.reg)
}

func (m *vecNeon) prefetch(p *pointer) { m.source.op("PRFM (%s), PLDL1KEEP", p.now) }

func (m *vecNeon) broadcast(d operand, p *pointer) {
	m.source.op("VLD1R (%s), [V%d.S4]", p.base, d.reg)
}

func (m *vecNeon) broadcastInt(d operand, p *pointer) {
	m.source.op("MOVW (%s), R4", p.base)
	m.source.op("SCVTFD R4, F%d", d.reg)
	m.source.op("VDUP V%d.D[0], V%[1]d.D2", d.reg)
}

func (m *vecNeon) storeOne(p *pointer, s operand) { m.source.op("FMOVS F%d, (%s)", s.reg, p.base) }

func (m *vecNeon) field(d operand, field string, size int) {
	m.source.op("ADD $vecArgs_%s, R0, R4", field)
	m.source.op("VLD1R (R4), [V%d.%s]", d.reg, map[int]string{4: "S4", 8: "D2"}[size])
}
