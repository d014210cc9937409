package main

import "fmt"

// words are the arm64 vector instructions that cmd/asm does not know, by the
// mnemonic of Arm's manual and, where one stands for several shapes, the shape.
// The registers of a code are d, n and m at bits 0, 5 and 16.
var words = map[string]struct {
	code uint32
	form string
}{
	"FADD":       {0x4e20d400, "V%d.4S, V%d.4S, V%d.4S"},
	"FADDP":      {0x6e20d400, "V%d.4S, V%d.4S, V%d.4S"},
	"FCVTL":      {0x0e217800, "V%d.4S, V%d.4H"},
	"FCVTL2":     {0x4e217800, "V%d.4S, V%d.8H"},
	"FCVTZS":     {0x4ea1b800, "V%d.4S, V%d.4S"},
	"FMAX":       {0x4e20f400, "V%d.4S, V%d.4S, V%d.4S"},
	"FMAXV":      {0x6e30f800, "S%d, V%d.4S"},
	"FMUL":       {0x6e20dc00, "V%d.4S, V%d.4S, V%d.4S"},
	"FRINTM":     {0x4e219800, "V%d.4S, V%d.4S"},
	"FSUB":       {0x4ea0d400, "V%d.4S, V%d.4S, V%d.4S"},
	"SADALP.16B": {0x4e206800, "V%d.8H, V%d.16B"},
	"SADALP.8H":  {0x4e606800, "V%d.4S, V%d.8H"},
	"SADDLP.16B": {0x4e202800, "V%d.8H, V%d.16B"},
	"SADDLP.8H":  {0x4e602800, "V%d.4S, V%d.8H"},
	"SCVTF":      {0x4e21d800, "V%d.4S, V%d.4S"},
	"SHLL":       {0x2e613800, "V%d.4S, V%d.4H, #16"},
	"SHLL2":      {0x6e613800, "V%d.4S, V%d.8H, #16"},
	"SMLAL":      {0x0e208000, "V%d.8H, V%d.8B, V%d.8B"},
	"SMLAL2":     {0x4e208000, "V%d.8H, V%d.16B, V%d.16B"},
	"SMULL":      {0x0e20c000, "V%d.8H, V%d.8B, V%d.8B"},
	"SMULL2":     {0x4e20c000, "V%d.8H, V%d.16B, V%d.16B"},
	"SMMLA":      {0x4e80a400, "V%d.4S, V%d.16B, V%d.16B"},
	"USMMLA":     {0x4e80ac00, "V%d.4S, V%d.16B, V%d.16B"},
}

// laneWords are those that take a 32-bit lane of m, the last number.
var laneWords = map[string]struct {
	code uint32
	form string
}{
	"FMLA":  {0x4f801000, "V%d.4S, V%d.4S, V%d.S[%d]"},
	"SDOT":  {0x4f80e000, "V%d.4S, V%d.16B, V%d.4B[%d]"},
	"USDOT": {0x4f80f000, "V%d.4S, V%d.16B, V%d.4B[%d]"},
}

// word writes an instruction of words with its registers in the manual's order.
func (s *source) word(name string, registers ...int) {
	w, ok := words[name]
	if !ok {
		panic("no word " + name)
	}
	code, args := w.code, make([]any, len(registers))
	for i, r := range registers {
		code |= uint32(r) << []int{0, 5, 16}[i]
		args[i] = r
	}
	s.op("WORD $0x%08x // %s "+w.form, append([]any{code, name}, args...)...)
}

// laneWord writes an instruction of laneWords.
func (s *source) laneWord(name string, d, n, m, lane int) {
	w, ok := laneWords[name]
	if !ok {
		panic("no word " + name)
	}
	code := w.code | uint32(lane&1)<<21 | uint32(m)<<16 | uint32(lane>>1)<<11 | uint32(n)<<5 | uint32(d)
	s.op("WORD $0x%08x // %s %s", code, name, fmt.Sprintf(w.form, d, n, m, lane))
}
