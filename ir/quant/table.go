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
// time: the factor is the whole table's.
func EncodeTable(d ir.DType, n, k int, w []float32, factor float32) (*Matrix, error) {
	m, err := Encode(d, n, k, w)
	if err != nil || d != ir.W8 {
		return m, err
	}
	m.Factor = factor
	for i := range m.Scale {
		row := w[i*k : (i+1)*k]
		m.store(i, row, storable(largest(row)/127, 127))
	}
	return m, nil
}
