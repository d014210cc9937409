package lowertest

import (
	"errors"
	"testing"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// A layerCase is a tiny layer of OLMoE's shape, as a family builds it.
type layerCase struct {
	name           string
	dense, experts ir.DType // of its matrices
	kv             ir.DType
	window         int
	shared         bool // a gated expert that every token takes
}

func layerCases() []layerCase {
	return []layerCase{
		{name: "f32", dense: ir.F32, experts: ir.F32, kv: ir.F32},
		{name: "bf16", dense: ir.BF16, experts: ir.BF16, kv: ir.F32, window: 4, shared: true},
		{name: "w8, w4g32", dense: ir.W8, experts: ir.W4G32, kv: ir.BF16, shared: true},
	}
}

// Extents of the layer.
const (
	layerWidth   = 64
	layerExperts = 6
	layerActive  = 2
)

// graph builds the layer.
func (l layerCase) graph(name string) (*ir.Graph, error) {
	const h, i = layerWidth, 96
	b := ir.NewBuilder(name, params{
		"attn.norm.weight": f32(n(h)), "ffn.norm.weight": f32(n(h)), "ffn.router.weight": f32(n(layerExperts), n(h)),
		"attn.q_norm.weight": f32(n(h)), "attn.k_norm.weight": f32(n(32)),
		"attn.q.weight": ir.Tensor(l.dense, n(h), n(h)), "attn.k.weight": ir.Tensor(l.dense, n(32), n(h)), "attn.v.weight": ir.Tensor(l.dense, n(32), n(h)), "attn.o.weight": ir.Tensor(l.dense, n(h), n(h)),
		"shared.gate.weight": ir.Tensor(l.dense, n(32), n(h)), "shared.down.weight": ir.Tensor(l.dense, n(h), n(32)),
		"expert.gate.weight": ir.Tensor(l.experts, n(i), n(h)), "expert.up.weight": ir.Tensor(l.experts, n(i), n(h)), "expert.down.weight": ir.Tensor(l.experts, n(h), n(i)),
	})
	x, step := b.Input("x", f32(ir.T, n(h))), b.Step()
	state := b.Input("state", grow(l.kv, heads{h: 4, g: 2, d: 16, dv: 16}))
	a := b.RMSNorm(x, "attn.norm", 1e-5)
	q := b.RoPE(b.Reshape(b.RMSNorm(b.Linear(a, "attn.q"), "attn.q_norm", 1e-5), ir.T, n(4), n(16)), step, ir.RoPEAttr{Theta: 1e4})
	k := b.RoPE(b.Reshape(b.RMSNorm(b.Linear(a, "attn.k"), "attn.k_norm", 1e-5), ir.T, n(2), n(16)), step, ir.RoPEAttr{Theta: 1e4})
	next := b.Named("state.next", b.Append(state, step, k, b.Reshape(b.Linear(a, "attn.v"), ir.T, n(2), n(16))))
	x = b.Add(x, b.Linear(b.Reshape(b.Attention(q, next, step, 0.25, l.window), ir.T, n(h)), "attn.o"))
	m := b.RMSNorm(x, "ffn.norm", 1e-5)
	p := b.Softmax(b.Linear(m, "ffn.router"))
	ids := b.TopK(p, layerActive)
	out := b.Experts(m, ids, b.Gather(p, ids), func(e *ir.Builder, x *ir.Value) *ir.Value {
		return e.Linear(e.Mul(e.SiLU(e.Linear(x, "gate")), e.Linear(x, "up")), "down")
	})
	if l.shared {
		out = b.Add(out, b.Linear(b.SiLU(b.Linear(m, "shared.gate")), "shared.down"))
	}
	return b.Finish(b.Named("y", b.Add(x, out)), next)
}

// module returns two layers as a package stores them, in packing p.
func (l layerCase) module(p lower.Packing) (*ir.Module, error) {
	m := &ir.Module{Layers: []string{"layer0", "layer1"}}
	for _, name := range m.Layers {
		g, err := l.graph(name)
		if err != nil {
			return nil, err
		}
		m.Graphs = append(m.Graphs, g)
	}
	ps, err := passes.Select(passes.Pack(passes.Policy{}, p, nil), "canonicalize", "dce", "extract-expert", "split", "layout")
	if err != nil {
		return nil, err
	}
	return m, passes.Run(m, ps, nil)
}

// testLayers runs whole layers, phase by phase as a runtime does, over a prompt
// and a step behind it, beside the same phases on the interpreter.
func testLayers(t *testing.T, b lower.Backend, o Options) {
	for _, l := range layerCases() {
		for _, p := range o.Packings {
			if err := l.check(b, p, o); err != nil {
				t.Errorf("layer %s, packing %s: %v", l.name, p.Name, err)
			}
		}
	}
}

func (l layerCase) check(b lower.Backend, p lower.Packing, o Options) (err error) {
	m, err := l.module(p)
	if err != nil {
		return err
	}
	x, m, err := compile(b, p, o, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	w := walker{m: m, packing: p, on: stand(b), compiled: x, tol: o.Tolerance}
	for _, g := range m.Graphs {
		w.tol = w.tol.or(o.of(g))
		if rounding(g).Rel > 0 {
			w.tol = w.tol.or(Tolerance{1e-2, "values that are quantized may round to the next code"})
		}
	}
	if l.kv != ir.F32 {
		w.tol = w.tol.or(o.Half)
	}
	return w.run()
}
