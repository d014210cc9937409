package main

import (
	"fmt"
	"strings"
)

// vecKernels are the kernels that go element by element and row by row. Each is
// written once, for any machine; what it does stands at package kernel's constant
// of its name.
var vecKernels = []struct {
	name  string
	write func(*vec)
}{
	{"vecAdd", binary("add", false)}, {"vecAddColumn", binary("add", true)},
	{"vecSub", binary("sub", false)}, {"vecSubColumn", binary("sub", true)},
	{"vecMul", binary("mul", false)}, {"vecMulColumn", binary("mul", true)},
	{"vecDiv", binary("div", false)}, {"vecDivColumn", binary("div", true)},
	{"vecAffine", affine}, {"vecClamp", clamp},
	{"vecSiLU", silu}, {"vecSiLUMul", siluMul}, {"vecSigmoid", sigmoid},
	{"vecSoftmax", softmax}, {"vecRMSNorm", rmsNorm}, {"vecSum", sumRows},
	{"vecQuantize", quantize}, {"vecConv", conv}, {"vecScatterAdd", scatterAdd}, {"vecScatterAhead", scatterAhead},
	{"vecRotateHalves", rotateHalves}, {"vecRotatePairs", rotatePairs},
	{"vecEncodeBF16", encodeBF16}, {"vecEncodeF16", encodeF16},
	{"vecDecodeBF16", decodeBF16}, {"vecDecodeF16", decodeF16},
}

func vecAMD64(s *source) {
	constants := &vecConstants{}
	writeKernels(s, "AVX512", func(in *source) machine { return &vecX86{source: in, wide: true, constants: constants} })
	writeKernels(s, "AVX2", func(in *source) machine { return &vecX86{source: in, constants: constants} })
	constants.write(s)
	s.decls.WriteString(`
// run runs short rows as AVX2, which is faster; elements get the same bits.
func (v *vecSet) run(k vecKernel, a *vecArgs) {
	if v.lanes == lanesAVX512 && a.n > lanesAVX2 {
		vecAVX512(k, a)
	} else {
		vecAVX2(k, a)
	}
}
`)
}

func vecARM64(s *source) {
	writeKernels(s, "NEON", func(in *source) machine { return &vecNeon{source: in} })
	s.decls.WriteString("\nfunc (v *vecSet) run(k vecKernel, a *vecArgs) { vecNEON(k, a) }\n")
}

// writeKernels writes the kernels of a set and the function that jumps to one of
// them: so that Go calls it by name, and what it is given may lie on the stack.
func writeKernels(s *source, set string, machineOf func(*source) machine) {
	table := "vec" + set + "Kernels<>"
	for _, k := range vecKernels {
		in := newSource(s.arch) // a kernel's text: what goes before it is known after it
		in.prefix = k.name + set
		v := &vec{machine: machineOf(in)}
		k.write(v)
		if v.most > v.limit() {
			panic(k.name + set + " takes too many vector registers")
		}
		fmt.Fprintf(&s.code, "\nTEXT %s%s<>(SB), NOSPLIT, $0-16\n", strings.TrimPrefix(k.name, "vec"), set)
		v.begin(s)
		s.code.WriteString(in.code.String())
		v.end(s)
	}
	for _, k := range vecKernels {
		s.op("DATA %s+const_%s*8(SB)/8, $%s%s<>(SB)", table, k.name, strings.TrimPrefix(k.name, "vec"), set)
	}
	s.op("GLOBL %s(SB), RODATA, $%d", table, 8*len(vecKernels))
	s.function("vec"+set, "runs kernel k.", param{"k", "vecKernel"}, param{"a", "*vecArgs"})
	if s.arch == "arm64" {
		s.op("MOVD k+0(FP), R1")
		s.op("MOVD a+8(FP), R0")
		s.op("MOVD $%s(SB), R2", table)
		s.op("MOVD (R2)(R1<<3), R2")
		s.op("JMP (R2)")
		return
	}
	s.op("MOVQ k+0(FP), CX")
	s.op("MOVQ a+8(FP), AX")
	s.op("LEAQ %s(SB), DX", table)
	s.op("MOVQ (DX)(CX*8), DX")
	s.op("JMP DX")
}
