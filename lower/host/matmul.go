package host

import (
	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// rowBlock is how many rows of x meet a run of panels before the next rows do,
// at most: they stay in the second cache meanwhile.
const rowBlock = 256

// A product is the loop of a matmul: panels, block of rows by block of rows.
type product struct {
	w           kernel.Matrix
	rows, block int
}

func matMul(x *Exec) error {
	m := keep[product](x)
	m.w = matrix(x.In[1])
	m.rows, _ = rows(x.In[0].Type)
	defer func() { m.w.Data = nil }()
	items := 0
	for m.block = rowBlock; ; m.block /= 2 { // a router has few panels
		items = ceil(m.rows, m.block) * m.w.Panels()
		if items >= 4*x.pool.threads || m.block == rowBlock/8 {
			break
		}
	}
	cost := panelCost(min(m.rows, m.block), m.w.K)
	if !x.In[0].Type.DType.Activation() {
		cost *= 4
	}
	return x.pool.loop(x, items, cost, mulPanels)
}

func mulPanels(x *Exec, from, to int) error {
	m, a, dst := x.local.(*product), x.In[0], x.out()
	size, panels := rowBytes(a.Type), m.w.Panels()
	for from < to {
		row, panel := from/panels*m.block, from%panels
		end, last := min(row+m.block, m.rows), min(panel+to-from, panels)
		multiply(x.pool.set, &m.w, dst[row*m.w.N:], m.w.N, operand{span(a.Bytes(), size, row, end), a.Type.DType, end - row, nil}, panel, last)
		from += last - panel
	}
	return nil
}

// An operand is rows of activations, and where they are quantized the sums that
// SumA8 made of them, or nil.
type operand struct {
	data  []byte
	dtype ir.DType
	rows  int
	sums  []int32
}

func (o operand) a8() kernel.A8 {
	return kernel.A8{Data: o.data, Rows: o.rows, Blocks: o.dtype == ir.A8G128, Sums: o.sums}
}

// multiply sets the columns of panels from..to-1 of w in rows of dst, stride apart.
func multiply(s *kernel.Set, w *kernel.Matrix, dst []float32, stride int, x operand, from, to int) {
	if x.dtype.Activation() {
		s.MulA8(w, dst, stride, x.a8(), from, to)
	} else {
		s.MulF32(w, dst, stride, lower.F32(x.data), x.rows, from, to)
	}
}

// matrix views a packed weight.
func matrix(b lower.Buffer) kernel.Matrix {
	d := b.Type.Dims
	return kernel.Matrix{DType: b.Type.DType, N: d[0].N, K: d[1].N, Data: b.Bytes(), Factor: b.Factor}
}

// rowBytes is the distance between rows along the last axis of a float tensor or
// a quantized activation.
func rowBytes(t ir.Type) int {
	k := t.Last().N
	if t.DType.Activation() {
		return lower.ActivationRow(t.DType, k)
	}
	return k * t.DType.Bits() / 8
}

// panelCost is about how many nanoseconds a panel takes: 256 products in each, or
// 16 bytes of weights where rows are few.
func panelCost(rows, k int) int { return max(rows, 8) * k / 8 }

func ceil(n, d int) int { return (n + d - 1) / d }
