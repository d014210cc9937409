package static

import (
	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// copyRows copies n rows of src, from row `from`, to row `at` of dst, and
// returns n. Float types are rounded to dst's, ties to even.
func copyRows(dst lower.Buffer, at int, src lower.Buffer, from, n int) int {
	to, b := dst.Rows(at, at+n), src.Rows(from, from+n)
	if dst.Type.DType == src.Type.DType {
		copy(to.Bytes(), b.Bytes())
		return n
	}
	store, load := storer(to), loader(b)
	for i := range int(b.Len) * 8 / src.Type.DType.Bits() {
		store(i, load(i))
	}
	return n
}

// loader returns how to read the elements of a float buffer.
func loader(b lower.Buffer) func(int) float32 {
	switch b.Type.DType {
	case ir.F16:
		h := lower.U16(b.Bytes())
		return func(i int) float32 { return quant.FromF16(h[i]) }
	case ir.BF16:
		h := lower.U16(b.Bytes())
		return func(i int) float32 { return quant.FromBF16(h[i]) }
	}
	f := lower.F32(b.Bytes())
	return func(i int) float32 { return f[i] }
}

// storer returns how to write them.
func storer(b lower.Buffer) func(int, float32) {
	switch b.Type.DType {
	case ir.F16:
		h := lower.U16(b.Bytes())
		return func(i int, x float32) { h[i] = quant.F16(x) }
	case ir.BF16:
		h := lower.U16(b.Bytes())
		return func(i int, x float32) { h[i] = quant.BF16(x) }
	}
	f := lower.F32(b.Bytes())
	return func(i int, x float32) { f[i] = x }
}
