package main

import (
	"fmt"
	"math"
)

// fmaAMD64 writes products of floats and what attention takes besides.
func fmaAMD64(s *source) {
	for _, x := range []x86{{s, "AVX512", "Z"}, {s, "AVX2", "Y"}} {
		x.gemm()
		x.weigh()
		x.packKeys()
		x.packValues()
		x.scale(false)
		x.peakFMA()
	}
	wide := x86{s, "AVX512", "Z"}
	wide.scale(true)
	wide.peakPairs()
}

// An x86 writes for 512-bit registers, Z, or for 256-bit ones, Y.
type x86 struct {
	*source
	set, letter string
}

func (x x86) wide() bool { return x.letter == "Z" }

// bytes is the size of a register.
func (x x86) bytes() int {
	if x.wide() {
		return 64
	}
	return 32
}

// lanes is how many float32 a register holds.
func (x x86) lanes() int { return x.bytes() / 4 }

// v names a register.
func (x x86) v(n int) string { return fmt.Sprint(x.letter, n) }

// constant sets all lanes of register n to bits.
func (x x86) constant(n int, bits uint32) {
	x.op("MOVL $0x%08x, AX", bits)
	if x.wide() {
		x.op("VPBROADCASTD AX, Z%d", n)
		return
	}
	x.op("VMOVD AX, X%d", n)
	x.op("VPBROADCASTD X%d, Y%d", n, n)
}

// zero clears register n.
func (x x86) zero(n int) { x.op("%s %s, %[2]s, %[2]s", x.bitwise("VPXOR"), x.v(n)) }

// bitwise completes the name of an instruction on bits.
func (x x86) bitwise(name string) string {
	if x.wide() {
		return name + "D"
	}
	return name
}

// fold sets lane 0 of register n to what op makes of all its lanes; register m is free.
func (x x86) fold(op string, n, m int) {
	if x.wide() {
		x.op("VEXTRACTF64X4 $1, Z%d, Y%d", n, m)
		x.op("%s Y%d, Y%d, Y%d", op, m, n, n)
		x.op("VEXTRACTF32X4 $1, Y%d, X%d", n, m)
	} else {
		x.op("VEXTRACTF128 $1, Y%d, X%d", n, m)
	}
	x.op("%s X%d, X%d, X%d", op, m, n, n)
	for _, pattern := range []int{0x4e, 0xb1} {
		x.op("VPERMILPS $0x%02x, X%d, X%d", pattern, n, m)
		x.op("%s X%d, X%d, X%d", op, m, n, n)
	}
}

// done ends a function.
func (x x86) done() {
	x.op("VZEROUPPER")
	x.op("RET")
}

// peakFMA writes a loop of nothing but the instruction that gemm multiplies with.
func (x x86) peakFMA() {
	x.peak("peakFMA"+x.set, "runs n times 12 VFMADD231PS.", func(n int) {
		x.op("VFMADD231PS %s, %s, %s", x.v(14), x.v(15), x.v(n))
	})
}

func (x x86) peakPairs() {
	x.peak("peakPairs"+x.set, "runs n times 12 VDPBF16PS.", func(n int) { x.evex(vdpbf16ps, n, 15, 14) })
}

func (x x86) peak(name, doc string, body func(n int)) {
	x.function(name, doc, param{"n", "int"})
	x.op("MOVQ n+0(FP), CX")
	for n := range 16 {
		x.zero(n)
	}
	x.label("loop")
	for n := range 12 {
		body(n)
	}
	x.op("DECQ CX")
	x.op("JNZ %s", x.at("loop"))
	x.done()
}

func bits(v float32) uint32 { return math.Float32bits(v) }
