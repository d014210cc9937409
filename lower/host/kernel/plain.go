package kernel

import (
	"fmt"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// Decode sets dst to the len(dst) numbers of d (f32, f16 or bf16) at the start of src.
func Decode(dst []float32, src []byte, d ir.DType) {
	switch d {
	case ir.F32:
		copy(dst, lower.F32(src))
	case ir.BF16:
		for i, h := range lower.U16(src)[:len(dst)] {
			dst[i] = quant.FromBF16(h)
		}
	case ir.F16:
		for i, h := range lower.U16(src)[:len(dst)] {
			dst[i] = quant.FromF16(h)
		}
	default:
		panic(fmt.Sprintf("kernel: decode %s", d))
	}
}

// Encode rounds src to numbers of d (f32, f16 or bf16) at the start of dst.
func Encode(dst []byte, src []float32, d ir.DType) {
	switch d {
	case ir.F32:
		copy(lower.F32(dst), src)
	case ir.BF16:
		out := lower.U16(dst)[:len(src)]
		for i, v := range src {
			out[i] = quant.BF16(v)
		}
	case ir.F16:
		out := lower.U16(dst)[:len(src)]
		for i, v := range src {
			out[i] = quant.F16(v)
		}
	default:
		panic(fmt.Sprintf("kernel: encode %s", d))
	}
}

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
			Decode(out, row, t.DType)
			continue
		}
		s := quant.FromF16(uint16(row[t.K])|uint16(row[t.K+1])<<8) * t.Factor
		for j, q := range row[:t.K] {
			out[j] = float32(int8(q)) * s
		}
	}
	return nil
}
