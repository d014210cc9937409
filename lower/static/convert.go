package static

import "estream/lower"

// copyRows copies n rows of src, from row `from`, to row `at` of dst, and
// returns n. Float types are rounded to dst's, ties to even.
func copyRows(dst lower.Buffer, at int, src lower.Buffer, from, n int) int {
	to, b := dst.Rows(at, at+n), src.Rows(from, from+n)
	if dst.Type.DType == src.Type.DType {
		copy(to.Bytes(), b.Bytes())
		return n
	}
	var number [64]float32
	out, in, bits := to.Bytes(), b.Bytes(), [2]int{dst.Type.DType.Bits(), src.Type.DType.Bits()}
	for len(in) > 0 {
		some := number[:min(len(number), len(in)*8/bits[1])]
		lower.Decode(some, in, src.Type.DType)
		lower.Encode(out, some, dst.Type.DType)
		out, in = out[len(some)*bits[0]/8:], in[len(some)*bits[1]/8:]
	}
	return n
}
