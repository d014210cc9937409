package kernel

// An fmaSet says which functions on floats run: those of an instruction set that
// multiplies and adds in one rounding. They are called by name, in its methods,
// so that their arguments may live on the stack. Assembly takes a slice's first
// word for its address and trusts that what the other fields say lies within.
type fmaSet struct {
	kind  int
	rows  int  // of a gemm, at most
	lanes int  // float32 of a register
	masks bool // rows of any length are loaded whole
	pairs bool // there are products of pairs of bfloat16, formPairs
}

// A gemm is one product, the argument of a gemm function:
//
//	c[r,n] = fall[r]*c[r,n] + the sum over k, ascending, of a[r,k] * b[k,n]
//
// for all columns n of some panels. Each sum is made in one accumulator from
// zero, rounded once a step. Strides count words of four bytes.
type gemm struct {
	form    int // of b
	rows    int // 1 to fmaSet.rows
	k       int // at least 1; of pairs, how many of them
	panels  int // at least 1
	a       []float32
	aStride int
	b       []float32 // panels [k][32], bStride apart
	bStride int
	c       []float32 // [rows][32*panels]
	cStride int
	fall    []float32 // nil: c is only written
}

// Forms of b. Where it is pairs of bfloat16 in words, so is a: a step adds two
// products, and what is subnormal counts as zero.
const (
	formF32 = iota
	formBF16
	formF16
	formPairs
)
