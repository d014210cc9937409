package quant

import "golang.org/x/sys/cpu"

// vectors is whether there are the instructions that the functions of the assembler
// take: their names end in FMA or AVX.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// block is how many weights the functions below take at a time.
const block = 32

// nearestVectors is nearestPlain of the first n weights.
func nearestVectors(q []int8, w []float32, inv float64, top int8) (n int) {
	if n = len(w) &^ (block - 1); !vectors || n == 0 {
		return 0
	}
	nearestAVX(q[:n], w, inv, top)
	return n
}

// largestVectors returns the bits of the largest magnitude of the first n weights.
func largestVectors(w []float32) (most uint32, n int) {
	if n = len(w) &^ (block - 1); !vectors || n == 0 {
		return 0, 0
	}
	return largestAVX(w[:n]), n
}

//go:noescape
func nearestAVX(q []int8, w []float32, inv float64, top int8)

//go:noescape
func largestAVX(w []float32) uint32

// valuesVectors sets the first n of dst to bfloat16 values.
func valuesVectors(dst []float32, src []byte) (n int) {
	if n = len(dst) &^ (block - 1); !vectors || n == 0 {
		return 0
	}
	valuesAVX(dst[:n], src[:2*n])
	return n
}

//go:noescape
func valuesAVX(dst []float32, src []byte)
