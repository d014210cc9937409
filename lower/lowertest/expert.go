package lowertest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"estream/ir"
	"estream/lower"
)

// A body is what one expert computes on its rows.
type body struct {
	name    string
	weights params
	x       ir.DType // of x
	build   func(b *ir.Builder, x *ir.Value) *ir.Value
}

// bodies returns gated bodies in several encodings, and one of another shape.
func bodies() []body {
	bs := []body{odd()}
	for _, e := range []struct {
		w, x ir.DType
		h, i int
	}{
		{ir.F32, ir.F32, 24, 40}, {ir.BF16, ir.F32, 32, 17}, {ir.F16, ir.F32, 33, 16},
		{ir.W8, ir.F32, 40, 24}, {ir.W4G32, ir.F32, 64, 96}, {ir.W4G64, ir.F32, 64, 128}, {ir.W4Full32, ir.F32, 32, 64},
		{ir.W8, ir.A8, 40, 24}, {ir.W4G32, ir.A8, 64, 96}, {ir.W4G64, ir.A8, 64, 128}, {ir.W4G128, ir.A8, 128, 256}, {ir.W4Full32, ir.A8, 32, 64},
		{ir.W4G32, ir.A8G128, 128, 256}, {ir.W4G128, ir.A8G128, 256, 128}, {ir.W4Full64, ir.A8G128, 128, 128}, {ir.W8, ir.A8G128, 128, 128},
	} {
		bs = append(bs, gated(e.w, e.x, e.h, e.i))
	}
	return bs
}

// gated is down(silu(gate x) * up x), h wide outside and i wide inside.
func gated(w, x ir.DType, h, i int) body {
	b := body{name: fmt.Sprintf("gated %s by %s [%d,%d]", x, w, i, h), x: x}
	b.weights = params{"expert.gate.weight": ir.Tensor(w, n(i), n(h)), "expert.up.weight": ir.Tensor(w, n(i), n(h)), "expert.down.weight": ir.Tensor(w, n(h), n(i))}
	b.build = func(b *ir.Builder, rows *ir.Value) *ir.Value {
		m := b.Mul(b.SiLU(b.Linear(rows, "expert.gate")), b.Linear(rows, "expert.up"))
		if x.Activation() {
			m = b.Op(ir.Quantize, ir.QuantizeAttr{To: x}, m)
		}
		return b.Linear(m, "expert.down")
	}
	return b
}

// odd is a body that no backend has a kernel for.
func odd() body {
	return body{
		name: "odd", x: ir.F32,
		weights: params{"expert.a.weight": f32(n(20), n(12)), "expert.b.weight": f32(n(12), n(32)), "bias": f32(n(12)), "norm.weight": ir.Tensor(ir.BF16, n(20))},
		build: func(b *ir.Builder, x *ir.Value) *ir.Value {
			h := b.RMSNorm(b.Clamp(b.Linear(x, "expert.a"), 2), "norm", 1e-5)
			return b.Sub(b.Sigmoid(b.Add(b.Linear(b.Concat(h, x), "expert.b"), b.Weight("bias"))), b.Affine(x, 0.5, -1))
		},
	}
}

// callee returns the expert's graph, as extract-expert makes it, with the
// weights behind one another in a record.
func (y body) callee(p lower.Packing) (*ir.Graph, error) {
	h := y.weights["expert.down.weight"]
	width := n(12)
	if h.Rank() > 0 {
		width = h.Dims[0]
	}
	b := ir.NewBuilder("expert0", y.weights)
	x, rows := b.Input("x", ir.Tensor(y.x, ir.T, width)), b.Input("rows", ir.Tensor(ir.I32, ir.R))
	w, sum := b.Input("w", f32(ir.R)), b.Input("y", f32(ir.T, width))
	out := b.Op(ir.ScaleRows, nil, y.build(b, b.Op(ir.GatherRows, nil, x, rows)), w)
	g, err := b.Finish(b.Op(ir.ScatterAdd, ir.InplaceAttr{}, sum, out, rows))
	if err != nil {
		return nil, err
	}
	end := int64(64) // something else comes first
	for _, v := range g.Weights() {
		v.Attr = ir.WeightAttr{Offset: int(end)}
		size, err := weightSize(g, v, p)
		if err != nil {
			return nil, err
		}
		end += lower.RoundUp(size, lower.Align)
	}
	return g, nil
}

// routed is the rows of one expert of a call.
type routed struct {
	rows []int32
	w    []float32
}

// routes are over 13 tokens: one row, several, none, all, tails.
func routes() []routed {
	all := make([]int32, 13)
	for i := range all {
		all[i] = int32(i)
	}
	rs := []routed{{rows: []int32{7}}, {rows: []int32{0, 1, 5, 6, 12}}, {}, {rows: all}, {rows: []int32{2, 3, 9}}}
	for i := range rs {
		for j := range rs[i].rows {
			rs[i].w = append(rs[i].w, 0.1+float32((i*5+j*3)%7)/7)
		}
	}
	return rs
}

// cuts are ways to cut the experts into groups.
func cuts() [][]int { return [][]int{{5}, {1, 1, 1, 1, 1}, {2, 3}, {4, 1}, {1, 3, 1}} }

// testExperts runs every body in every cut.
func testExperts(t *testing.T, b lower.Backend, o Options) {
	for _, y := range bodies() {
		for _, p := range o.Packings {
			g, err := y.callee(p)
			if errors.Is(err, lower.ErrUnsupported) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", y.name, err)
				continue
			}
			m := moduleOf(g)
			if !supported(t, b, o, m, g) {
				o.refused(t, ir.Experts, y.name)
			} else if err := y.check(b, p, o, m); err != nil {
				t.Errorf("%s, packing %s: %v\n%s", y.name, p.Name, err, g)
			}
		}
	}
}

// moduleOf returns a module in which a layer computes h and calls g on it.
func moduleOf(g *ir.Graph) *ir.Module {
	h := g.Value("x").Type
	first := ir.NewBuilder("c0.body", nil)
	x := first.Input("x", h.WithDType(ir.F32))
	out := first.Affine(x, 2, 0)
	if h.DType.Activation() {
		out = first.Op(ir.Quantize, ir.QuantizeAttr{To: h.DType}, x)
	}
	body, err := first.Finish(first.Named("h", out))
	b := ir.NewBuilder("c0.experts", nil)
	ids, w := b.Input("experts.ids", ir.Tensor(ir.I32, ir.T, n(2))), b.Input("experts.weights", f32(ir.T, n(2)))
	call, err2 := b.Finish(b.Named("experts", b.Op(ir.Experts, ir.ExpertsAttr{Callee: g.Name}, b.Input("h", h), ids, w)))
	if err := errors.Join(err, err2); err != nil {
		panic("lowertest: " + err.Error())
	}
	return &ir.Module{Layers: []string{"c0"}, Graphs: []*ir.Graph{g, body, call}}
}

func (y body) check(b lower.Backend, p lower.Packing, o Options, m *ir.Module) (err error) {
	x, m, err := compile(b, p, o, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	c := newGroupCase(m.Graph("expert0"))
	var first []byte
	for i, cut := range cuts() {
		s, err := c.stage(p, x)
		if err != nil {
			return err
		}
		err = s.run(x, cut)
		got := bytes.Clone(s.call.Out[0].Bytes())
		if err == nil && i == 0 {
			err, first = s.compare(o.of(c.graph).or(rounding(c.graph))), got
		}
		if err == nil && !bytes.Equal(got, first) {
			err = fmt.Errorf("groups of %v experts and one of %v give different bits", cut, cuts()[0])
		}
		if err := errors.Join(err, s.stage.intact(), s.stage.mem.Free()); err != nil {
			return err
		}
	}
	return nil
}
