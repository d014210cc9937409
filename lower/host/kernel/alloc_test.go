package kernel

import (
	"testing"

	"estream/ir"
	"estream/lower"
)

func TestNoAllocation(t *testing.T) {
	const rows, n, k = 3, 64, 256
	x, y, dst := normal(rows*k, 1), normal(rows*k, 2), make([]float32, rows*k)
	a8, blocks, ids := quantized(t, rows, k, false), quantized(t, rows, k, true), make([]int32, rows*8)
	pos, seq := []int32{1, 2, 3}, []int32{0, 1, rows}
	check := func(name string, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(10, f); got != 0 {
			t.Errorf("%s allocates %v times a call, want 0", name, got)
		}
	}
	for _, d := range weightTypes {
		w := packed(t, d, n, k)
		check("MulF32 "+d.String(), func() { plain.MulF32(w, dst, n, x, rows, 0, 2) })
		if d.Encoded() {
			check("MulA8 "+d.String(), func() { plain.MulA8(w, dst, n, A8{Data: a8, Rows: rows}, 0, 2) })
			check("MulA8 blocks "+d.String(), func() { plain.MulA8(w, dst, n, A8{Data: blocks, Rows: rows, Blocks: true}, 0, 2) })
		}
	}
	for _, d := range []ir.DType{ir.F32, ir.BF16} {
		a := &Attention{Heads: 2, Groups: 1, D: 32, Dv: 32, Scale: 1, DType: d, Keys: encoded(100*32, d, 1), Values: encoded(100*32, d, 2)}
		check("Attention "+d.String(), func() { plain.Attend(a, dst, x, Sequence{Pos: 80}, 0, rows, 0, 2, nil) })
		win := &Window{DType: d, Keep: 2, D: k, Data: encoded(2*2*k, d, 1)}
		check("Conv", func() { plain.Conv(dst, x, y, win, seq, 0, k) })
		check("Shift", func() { Shift(win, seq, x) })
		table := &Table{DType: d, K: k, Data: encoded(4*k, d, 3)}
		check("Table.Rows", func() { _ = table.Rows(dst, pos) })
		bytes := make([]byte, 4*len(x))
		check("Encode", func() { lower.Encode(bytes, x, d) })
		check("Decode", func() { lower.Decode(dst, bytes, d) })
	}
	check("QuantizeA8", func() { _ = plain.QuantizeA8(a8, x, rows, k, false) })
	check("RMSNorm", func() { plain.RMSNorm(dst, x, y[:k], 1e-5) })
	check("Softmax", func() { plain.Softmax(dst, x, k) })
	check("SiLUMul", func() { plain.SiLUMul(dst, x, y) })
	check("Binary", func() { plain.Apply(Add, dst, x, y[:k], k, Vector) })
	check("Rotary", func() { plain.Rotate(Rotary{Heads: 2, D: 128, Theta: 1e4}, dst, x, pos) })
	check("TopK", func() { _ = plain.TopK(ids, x, k, 8) })
	check("Gather", func() { _ = Gather(dst, x, ids, k, 8) })
	check("ScatterAdd", func() { _ = plain.ScatterAdd(dst, k, x, k, k, []int32{0, 2}, nil) })
}
