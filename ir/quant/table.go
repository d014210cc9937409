package quant

import (
	"math"

	"estream/ir"
)

// TableFactor returns the factor of a table of w8 whose largest magnitude is
// given, for EncodeTable; 1 for zero.
func TableFactor(largest float32) float32 {
	return float32(math.Ldexp(1, exponent(storable(float64(largest)/127, 127))))
}

// EncodeTable is Encode for a block of rows of a table that is made a block at a
// time: the factor is the whole table's. A block of w8 may become zero unless
// the factor is so small that the largest weight of the table may have, too.
func EncodeTable(d ir.DType, n, k int, w []float32, factor float32) (*Matrix, error) {
	if d != ir.W8 {
		return encode(nil, d, n, k, w, 0)
	}
	m, err := encode(nil, d, n, k, w, factor)
	if err != nil || factor > 0x1p-126 {
		return m, err
	}
	return m, m.checkLost(w)
}
