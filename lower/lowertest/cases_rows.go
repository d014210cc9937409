package lowertest

import (
	"fmt"
	"math"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

type tensors = map[string]*interp.Tensor

var nan = float32(math.NaN())

// routing returns the ops that pick, move and number rows.
func routing() []testCase {
	var cs []testCase
	for _, s := range [][3]int{{1, 8, 1}, {5, 9, 4}, {3, 64, 8}, {4, 6, 6}, {0, 8, 2}} {
		cs = append(cs, topK(s[0], s[1], s[2]), gather(s[0], s[1], s[2]), oneHot(s[0], s[1], s[2]))
	}
	ties := topK(2, 6, 3).with(tensors{"x": interp.Floats([]float32{1, 2, 2, 1, 2, 2, 0, 0, 0, 0, float32(math.Copysign(0, -1)), 0}, 2, 6)})
	infinite := topK(1, 4, 2).with(tensors{"x": interp.Floats([]float32{float32(math.Inf(-1)), 3, float32(math.Inf(1)), 1}, 1, 4)})
	notNumber := topK(2, 3, 1).with(tensors{"x": interp.Floats([]float32{1, 2, 3, 1, nan, 3}, 2, 3)})
	beyond := gather(2, 3, 1).with(tensors{"ids": interp.Ints([]int32{0, 3}, 2, 1)})
	none := oneHot(2, 3, 1).with(tensors{"ids": interp.Ints([]int32{0, -1}, 2, 1)})
	cs = append(cs, ties, infinite, notNumber.failing(), beyond.failing(), none.failing())
	cs = append(cs, rowMoves()...)
	cs = append(cs, embeds()...)
	return append(cs, quantizes()...)
}

func topK(rows, width, k int) testCase {
	return newCase(fmt.Sprintf("topk [%d,%d] k %d", rows, width, k), lower.Dims{"T": rows}, nil, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.TopK(b.Input("x", f32(ir.T, n(width))), k)}
	})
}

func gather(rows, width, k int) testCase {
	c := newCase(fmt.Sprintf("gather [%d,%d] k %d", rows, width, k), lower.Dims{"T": rows}, nil, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.Gather(b.Input("x", f32(ir.T, n(width))), b.Input("ids", ir.Tensor(ir.I32, ir.T, n(k))))}
	})
	return c.with(tensors{"ids": newSource(c.name).ints(width, rows, k)})
}

func oneHot(rows, width, k int) testCase {
	c := newCase(fmt.Sprintf("onehot [%d,%d] k %d", rows, width, k), lower.Dims{"T": rows}, nil, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.OneHot(b.Input("ids", ir.Tensor(ir.I32, ir.T, n(k))), width)}
	})
	return c.with(tensors{"ids": newSource(c.name).ints(width, rows, k)})
}

// rowMoves returns what surrounds an expert, each op alone.
func rowMoves() []testCase {
	var cs []testCase
	for _, rows := range [][]int32{{0}, {0, 2, 3, 6}, {}} {
		given := interp.Ints(rows, len(rows))
		dims := lower.Dims{"T": 7, "R": len(rows)}
		for _, d := range []ir.DType{ir.F32, ir.A8} {
			cs = append(cs, newCase(fmt.Sprintf("gather_rows %s %v", d, rows), dims, nil, func(b *ir.Builder) []*ir.Value {
				return []*ir.Value{b.Op(ir.GatherRows, nil, b.Input("x", ir.Tensor(d, ir.T, n(33))), b.Input("rows", ir.Tensor(ir.I32, ir.R)))}
			}).with(tensors{"rows": given}))
		}
		cs = append(cs, scatterAdd(dims, given), newCase(fmt.Sprintf("scale_rows %v", rows), dims, nil, func(b *ir.Builder) []*ir.Value {
			return []*ir.Value{b.Op(ir.ScaleRows, nil, b.Input("x", f32(ir.R, n(33))), b.Input("w", f32(ir.R)))}
		}))
	}
	outside := interp.Ints([]int32{1, 7}, 2)
	return append(cs, scatterAdd(lower.Dims{"T": 7, "R": 2}, outside).failing())
}

func scatterAdd(dims lower.Dims, rows *interp.Tensor) testCase {
	return newCase(fmt.Sprintf("scatter_add %v", rows.I), dims, nil, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.Op(ir.ScatterAdd, ir.InplaceAttr{}, b.Input("y", f32(ir.T, n(33))), b.Input("x", f32(ir.R, n(33))), b.Input("rows", ir.Tensor(ir.I32, ir.R)))}
	}).with(tensors{"rows": rows})
}

func embeds() []testCase {
	var cs []testCase
	for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16, ir.W8} {
		cs = append(cs, embed(d, 3, 0, 10, 3), embed(d), embed(d, 5, 5))
	}
	return append(cs, embed(ir.F32, 1, 11).failing(), embed(ir.W8, -1).failing())
}

func embed(d ir.DType, ids ...int32) testCase {
	return newCase(fmt.Sprintf("embed %s %v", d, ids), lower.Dims{"T": len(ids)}, params{"table": ir.Tensor(d, n(11), n(18))}, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.Embed(b.Weight("table"), b.Input("ids", ir.Tensor(ir.I32, ir.T)))}
	}).with(tensors{"ids": interp.Ints(ids, len(ids))})
}

func quantizes() []testCase {
	var cs []testCase
	for _, s := range []struct {
		to      ir.DType
		rows, k int
	}{{ir.A8, 3, 7}, {ir.A8, 1, 64}, {ir.A8, 9, 130}, {ir.A8, 0, 8}, {ir.A8G128, 1, 128}, {ir.A8G128, 4, 384}} {
		c := quantize(s.to, s.rows, s.k)
		if s.rows > 2 { // a row of zeros, and one of ties
			clear(c.in["x"].F[:s.k])
			for i := range s.k {
				c.in["x"].F[s.k+i] = float32(i%255-127) / 2
			}
			c.in["x"].F[s.k] = 127
		}
		cs = append(cs, c)
	}
	for _, bad := range []float32{nan, float32(math.Inf(1))} {
		c := quantize(ir.A8, 2, 5)
		c.name, c.in["x"].F[7] = fmt.Sprint(c.name, " with ", bad), bad
		cs = append(cs, c.failing())
	}
	return cs
}

func quantize(to ir.DType, rows, k int) testCase {
	return newCase(fmt.Sprintf("quantize %s [%d,%d]", to, rows, k), lower.Dims{"T": rows}, nil, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.Op(ir.Quantize, ir.QuantizeAttr{To: to}, b.Input("x", f32(ir.T, n(k))))}
	})
}
