package kernel

import (
	"fmt"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// A Table is a plain weight [U,K]: f32, f16, bf16, or w8 whose rows are K codes
// and an f16 scale.
type Table struct {
	DType  ir.DType
	K      int
	Data   []byte
	Factor float32 // of w8
}

// Rows sets row i of dst [len(ids),K] to row ids[i] of the table. A row that it
// has not is an error.
func (t *Table) Rows(dst []float32, ids []int32) error {
	size := t.K * t.DType.Bits() / 8
	if t.DType == ir.W8 {
		size += 2
	}
	for i, id := range ids {
		if id < 0 || (int(id)+1)*size > len(t.Data) {
			return fmt.Errorf("embed: row %d of %d", id, len(t.Data)/size)
		}
		row, out := t.Data[int(id)*size:(int(id)+1)*size], dst[i*t.K:(i+1)*t.K]
		if t.DType != ir.W8 {
			lower.Decode(out, row, t.DType)
			continue
		}
		s := quant.FromF16(uint16(row[t.K]) | uint16(row[t.K+1])<<8)
		for j, q := range row[:t.K] {
			out[j] = float32(int8(q)) * s * t.Factor // in this order: s times a small factor may be no f32
		}
	}
	return nil
}
