package interp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
)

// The tiny OLMoE of testdata/olmoe/config.json.
const (
	layers, hidden, heads, headDim  = 3, 64, 4, 16
	expertCount, topK, width, vocab = 8, 3, 32, 160
	eps, theta                      = 1e-5, 1e4
	folder                          = "../../testdata/olmoe/"
	goldenTolerance                 = 1e-4 // f32 against f32 in another order of sums; f32 against f64 is 2.8e-6
	capacity                        = 96   // rows of the states that tests make
)

// A model runs the tiny OLMoE step by step over states of its own.
type model struct {
	t      testing.TB
	m      *ir.Module
	hub    map[string]*interp.Tensor // weights by the checkpoint's names
	states []*interp.Tensor
	logits *interp.Tensor            // of all tokens of the last step
	seen   map[string]*interp.Tensor // values of the last step: "name.layer", "embed", "final.norm"
}

// A part is the tokens that a step adds to one sequence.
type part struct {
	ids                []int32
	past, base, parent int32
	shared             int32 // rows seen of the parent
}

// alone is a sequence that starts at row base and has no parent.
func alone(ids []int32, base int32) part { return part{ids: ids, base: base, parent: -1} }

var hubNames = map[string]string{
	"attn.norm.weight":   "input_layernorm.weight",
	"attn.q.weight":      "self_attn.q_proj.weight",
	"attn.k.weight":      "self_attn.k_proj.weight",
	"attn.v.weight":      "self_attn.v_proj.weight",
	"attn.o.weight":      "self_attn.o_proj.weight",
	"attn.q_norm.weight": "self_attn.q_norm.weight",
	"attn.k_norm.weight": "self_attn.k_norm.weight",
	"ffn.norm.weight":    "post_attention_layernorm.weight",
	"ffn.router.weight":  "mlp.gate.weight",
}

func newModel(t testing.TB, file string) *model {
	t.Helper()
	w := readTensors(t, folder+file)
	m := &model{t: t, m: olmoe(t, w["lm_head.weight"].Type.DType), hub: w}
	kv := ir.Tensor(ir.F32, ir.N(capacity), ir.N(heads), ir.N(headDim))
	for range layers {
		m.states = append(m.states, interp.New(ir.StateOf(ir.Grow, kv, kv)))
	}
	return m
}

// olmoe builds the module whose weights have type d.
func olmoe(t testing.TB, d ir.DType) *ir.Module {
	t.Helper()
	vector, square := ir.Tensor(d, ir.N(hidden)), ir.Tensor(d, ir.N(hidden), ir.N(hidden))
	table := ir.Tensor(d, ir.N(vocab), ir.N(hidden))
	params := map[string]ir.Type{
		"embed.weight": table, "head.weight": table, "final.norm.weight": vector,
		"attn.norm.weight": vector, "ffn.norm.weight": vector, "attn.q_norm.weight": vector, "attn.k_norm.weight": vector,
		"attn.q.weight": square, "attn.k.weight": square, "attn.v.weight": square, "attn.o.weight": square,
		"ffn.router.weight":  ir.Tensor(d, ir.N(expertCount), ir.N(hidden)),
		"expert.gate.weight": ir.Tensor(d, ir.N(width), ir.N(hidden)),
		"expert.up.weight":   ir.Tensor(d, ir.N(width), ir.N(hidden)),
		"expert.down.weight": ir.Tensor(d, ir.N(hidden), ir.N(width)),
	}
	m := &ir.Module{}
	finish := func(b *ir.Builder, outputs ...*ir.Value) {
		g, err := b.Finish(outputs...)
		require.NoError(t, err)
		m.Graphs = append(m.Graphs, g)
	}
	b := ir.NewBuilder("embed", params)
	finish(b, b.Named("embed", b.Embed(b.Weight("embed.weight"), b.Input("ids", ir.Tensor(ir.I32, ir.T)))))
	for l := range layers {
		b := ir.NewBuilder(fmt.Sprint("layer", l), params)
		finish(b, layer(b)...)
		m.Layers = append(m.Layers, fmt.Sprint("layer", l))
	}
	b = ir.NewBuilder("head", params)
	x := b.RMSNorm(b.Input("x", ir.Tensor(ir.F32, ir.L, ir.N(hidden))), "final.norm", eps)
	finish(b, b.Named("logits", b.Linear(x, "head")))
	require.NoError(t, m.Verify())
	return m
}

func layer(b *ir.Builder) []*ir.Value {
	x, s := b.Input("x", ir.Tensor(ir.F32, ir.T, ir.N(hidden))), b.Step()
	kv := ir.Tensor(ir.F32, ir.S, ir.N(heads), ir.N(headDim))
	state := b.Input("state", ir.StateOf(ir.Grow, kv, kv))
	split := func(x *ir.Value) *ir.Value { return b.Reshape(x, ir.T, ir.N(heads), ir.N(headDim)) }
	h := b.RMSNorm(x, "attn.norm", eps)
	q := b.RoPE(split(b.RMSNorm(b.Linear(h, "attn.q"), "attn.q_norm", eps)), s, ir.RoPEAttr{Theta: theta})
	k := b.RoPE(split(b.RMSNorm(b.Linear(h, "attn.k"), "attn.k_norm", eps)), s, ir.RoPEAttr{Theta: theta})
	next := b.Named("state.next", b.Append(state, s, k, split(b.Linear(h, "attn.v"))))
	a := b.Reshape(b.Attention(q, next, s, 0.25, 0), ir.T, ir.N(hidden))
	x = b.Add(x, b.Linear(a, "attn.o"))
	h = b.RMSNorm(x, "ffn.norm", eps)
	p := b.Softmax(b.Linear(h, "ffn.router"))
	ids := b.TopK(p, topK)
	y := b.Experts(h, ids, b.Gather(p, ids), func(e *ir.Builder, x *ir.Value) *ir.Value {
		return e.Linear(e.Mul(e.SiLU(e.Linear(x, "gate")), e.Linear(x, "up")), "down")
	})
	return []*ir.Value{b.Named("y", b.Add(x, y)), next}
}

// step runs one step and leaves the logits of all its tokens.
func (m *model) step(parts ...part) {
	m.t.Helper()
	var ids, pos, past, base, parent []int32
	seq := []int32{0}
	for _, p := range parts {
		for i := range p.ids {
			pos = append(pos, p.shared+p.past+int32(i))
		}
		ids, past, base, parent = append(ids, p.ids...), append(past, p.past), append(base, p.base), append(parent, p.parent)
		seq = append(seq, int32(len(ids)))
	}
	m.seen = map[string]*interp.Tensor{}
	n := len(parts)
	in := map[string]*interp.Tensor{
		"pos": interp.Ints(pos, len(pos)), "seq": interp.Ints(seq, n+1), "past": interp.Ints(past, n),
		"base": interp.Ints(base, n), "parent": interp.Ints(parent, n),
		"ids": interp.Ints(ids, len(ids)), "embed.weight": m.hub["model.embed_tokens.weight"],
		"final.norm.weight": m.hub["model.norm.weight"], "head.weight": m.hub["lm_head.weight"],
	}
	in["x"] = m.eval("embed", in, "")
	for l := range layers {
		for name, hub := range hubNames {
			in[name] = m.hub[fmt.Sprintf("model.layers.%d.%s", l, hub)]
		}
		in["state"] = m.states[l]
		in["x"] = m.eval(m.m.Layers[l], in, fmt.Sprintf(".%d", l))
	}
	m.logits = m.eval("head", in, "")
}

func (m *model) eval(graph string, in map[string]*interp.Tensor, suffix string) *interp.Tensor {
	m.t.Helper()
	g := m.m.Graph(graph)
	out, err := interp.Eval(m.m, g, in, interp.Options{
		Experts: func(_ *ir.Value, e int) (map[string]*interp.Tensor, error) {
			w := map[string]*interp.Tensor{}
			for _, name := range []string{"gate", "up", "down"} {
				w["expert."+name+".weight"] = m.hub[fmt.Sprintf("model.layers%s.mlp.experts.%d.%s_proj.weight", suffix, e, name)]
			}
			return w, nil
		},
		Tap: func(in *ir.Graph, v *ir.Value, x *interp.Tensor) {
			if in == g && v.Name != "" {
				m.seen[v.Name+suffix] = x
			}
		},
	})
	require.NoError(m.t, err)
	return out[0]
}

// rows returns the logits of tokens from..to-1 of the last step.
func (m *model) rows(from, to int) []float32 { return m.logits.F[from*vocab : to*vocab] }

// plain returns the logits of ids run alone in one step.
func plain(t testing.TB, ids []int32) []float32 {
	t.Helper()
	m := newModel(t, "model.safetensors")
	m.step(alone(ids, 0))
	return m.logits.F
}
