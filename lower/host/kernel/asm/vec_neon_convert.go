package main

import "strings"

func (m *vecNeon) set(d, s operand) {
	if s.constant() && s.bits == 0 {
		m.do("xor.d", d.reg, d.reg, d.reg)
		return
	}
	m.do("or", d.reg, m.v(s), m.v(s))
}

func (m *vecNeon) op(name string, d, a, b operand) {
	if kind, isHorner := strings.CutPrefix(name, "horner"); isHorner {
		scratch := operand{reg: neonScratch}
		m.set(scratch, b)
		m.do("fma"+kind, scratch.reg, d.reg, a.reg)
		m.set(d, scratch)
		return
	}
	m.do(name, d.reg, a.reg, m.v(b))
}

// shift has n in the immediate field: to the right, n less than the bits of a lane.
func (m *vecNeon) shift(name string, d, a operand, n int) {
	bits := 32
	if strings.HasSuffix(name, ".d") {
		bits = 64
	}
	if !strings.HasPrefix(name, "left") {
		n = bits - n
	}
	m.do(name, d.reg, a.reg, n)
}

func (m *vecNeon) round(d, a operand)    { m.do("round", d.reg, a.reg) }
func (m *vecNeon) toInt(d, a operand)    { m.do("int", d.reg, a.reg) }
func (m *vecNeon) scale(d, n, t operand) { scaleTwice(m, d, n, t) }
func (m *vecNeon) swap(d, s operand)     { m.do("swap", d.reg, s.reg) }

func (m *vecNeon) choose(d, sign, minus, plus operand, f64 bool) {
	scratch := operand{reg: neonScratch}
	if f64 {
		m.shift("arithmetic.d", scratch, sign, 63)
	} else {
		m.shift("arithmetic", scratch, sign, 31)
	}
	m.do("choose", scratch.reg, minus.reg, plus.reg)
	m.set(d, scratch)
}

func (m *vecNeon) widen(low, high, s operand) {
	m.do("widen", low.reg, s.reg)
	m.do("widen high", high.reg, s.reg)
}

func (m *vecNeon) narrow(d, low, high operand) {
	m.do("narrow", neonScratch, low.reg)
	m.do("narrow high", neonScratch, high.reg)
	m.set(d, operand{reg: neonScratch})
}

// reduce exchanges halves, then neighbours.
func (m *vecNeon) reduce(name string, d, t operand) {
	m.do("halves", t.reg, d.reg, d.reg)
	m.op(name, d, d, t)
	if !strings.HasSuffix(name, ".d") {
		m.swap(t, d)
		m.op(name, d, d, t)
	}
}

func (m *vecNeon) inverseRoot(d, s operand) {
	m.source.op("FSQRTD F%d, F%[1]d", s.reg)
	m.source.op("FMOVD $1.0, F%d", neonScratch)
	m.source.op("FDIVD F%d, F%d, F%d", s.reg, neonScratch, d.reg)
	m.source.op("FCVTDS F%d, F%[1]d", d.reg)
	m.source.op("VDUP V%d.S[0], V%[1]d.S4", d.reg)
}

func (m *vecNeon) load16(d operand, p *pointer, half bool) {
	m.load(d, p)
	if half {
		m.do("from half", d.reg, d.reg)
	} else {
		m.do("from 16", d.reg, d.reg)
	}
}

func (m *vecNeon) store16(p *pointer, s operand, half bool) {
	if half {
		m.do("half", s.reg, s.reg)
	} else {
		m.do("16", s.reg, s.reg)
	}
	m.store(p, s)
}

func (m *vecNeon) store8(p *pointer, s operand) {
	m.do("16", s.reg, s.reg)
	m.do("8", s.reg, s.reg)
	m.store(p, s)
}
