package passes

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
	"estream/lower"
)

// A model runs a module step by step, whatever passes have been run on it: graphs
// of layers, or phases wired by name.
type model struct {
	t      *testing.T
	m      *ir.Module
	zero   []string // weights that are all zeros
	states []*interp.Tensor
	values map[string]*interp.Tensor // of the last layer run
}

// extents of the tests' weights and states.
var extents = lower.Dims{"U": 96, "P": 96, "S": 24, "B": 2}

// two steps of two sequences, the second of which sees a prefix of the first.
var steps = []map[string][]int32{
	{"ids": {3, 1, 4, 1, 5, 9, 2, 6}, "pos": {0, 1, 2, 3, 4, 2, 3, 4}, "seq": {0, 5, 8}, "past": {0, 0}, "base": {0, 12}, "parent": {-1, 0}},
	{"ids": {5, 3, 5}, "pos": {5, 5, 6}, "seq": {0, 1, 3}, "past": {5, 3}, "base": {0, 12}, "parent": {-1, 0}},
}

func (m *model) weight(layer int, expert int, w *ir.Value) *interp.Tensor {
	bound, err := extents.Bind(w.Type)
	require.NoError(m.t, err)
	h := fnv.New64a()
	fmt.Fprint(h, layer, expert, w.Name)
	r, n := rand.New(rand.NewPCG(h.Sum64(), 0)), 1
	for _, d := range bound.Dims {
		n *= d.N
	}
	values := make([]float32, n)
	for i := range values {
		if !slices.Contains(m.zero, w.Name) {
			values[i] = float32(r.NormFloat64() / 8)
		}
	}
	q, err := quant.Encode(bound.DType, n/bound.Last().N, bound.Last().N, values)
	require.NoError(m.t, err)
	if bound.DType.Encoded() {
		return interp.Matrix(q)
	}
	return &interp.Tensor{Type: bound, F: q.F}
}

// eval runs a graph on env and adds its outputs to it, by name.
func (m *model) eval(g *ir.Graph, layer int, env map[string]*interp.Tensor) {
	m.t.Helper()
	for _, w := range g.Weights() {
		env[w.Name] = m.weight(layer, -1, w)
	}
	out, err := interp.Eval(m.m, g, env, interp.Options{Experts: func(v *ir.Value, e int) (map[string]*interp.Tensor, error) {
		body, ws := v.Body, map[string]*interp.Tensor{}
		if body == nil {
			body = m.m.Graph(v.Attr.(ir.ExpertsAttr).Callee)
		}
		for _, w := range body.Weights() {
			ws[w.Name] = m.weight(layer, e, w)
		}
		return ws, nil
	}})
	require.NoError(m.t, err)
	for i, o := range g.Outputs {
		env[o.Name] = out[i]
	}
}

// parts returns the graphs of a layer in the order they run.
func (m *model) parts(name string) []*ir.Graph {
	if g := m.m.Graph(name); g != nil {
		return []*ir.Graph{g}
	}
	return ClassGraphs(m.m, name)
}

// step runs one step and returns the logits of all its tokens.
func (m *model) step(inputs map[string][]int32) []float32 {
	m.t.Helper()
	env := map[string]*interp.Tensor{}
	for name, v := range inputs {
		env[name] = interp.Ints(v, len(v))
	}
	m.eval(m.m.Graph("embed"), -1, env)
	x := env["embed"]
	for l, name := range m.m.Layers {
		m.values = map[string]*interp.Tensor{"x": x}
		for name := range inputs {
			m.values[name] = env[name]
		}
		if len(m.states) <= l {
			m.states = append(m.states, m.state(name))
		}
		m.values["state"] = m.states[l]
		for _, g := range m.parts(name) {
			m.eval(g, l, m.values)
		}
		x = m.values["y"]
	}
	env = map[string]*interp.Tensor{"x": x}
	for _, name := range []string{"head", "head.norm", "head.proj"} {
		if g := m.m.Graph(name); g != nil {
			m.eval(g, -1, env)
		}
	}
	return env["logits"].F
}

func (m *model) state(layer string) *interp.Tensor {
	bound, err := extents.Bind(m.parts(layer)[0].Value("state").Type)
	require.NoError(m.t, err)
	return interp.New(bound)
}

// inOf returns the module that a file of testdata starts from, after passes.
func inOf(t *testing.T, file string, ps ...Pass) *ir.Module {
	t.Helper()
	m := parse(t, modules(t)["testdata/"+file+".txtar/in"])
	require.NoError(t, Run(m, ps, nil))
	return m
}

// TestMeaning: once weights are rounded, no pass but activation quantization
// changes a bit of what a model computes, nor of the states it leaves.
func TestMeaning(t *testing.T) {
	policy := Policy{Experts: ir.W4G32, Attention: ir.W8, Head: ir.W8, Embed: ir.W8, Exact: func(string, string) ir.DType { return ir.BF16 }}
	host := &fake{name: "host"}
	for _, file := range []string{"pack_olmoe", "pack_mix"} {
		pack, err := Select(Pack(policy, plain, nil), "quantize")
		require.NoError(t, err)
		rounded := &model{t: t, m: inOf(t, file, pack...)}
		packed := &model{t: t, m: inOf(t, file, Pack(policy, plain, nil)...)}
		opened := &model{t: t, m: inOf(t, file, append(Pack(policy, plain, nil), Open(Target{Host: host})...)...)}
		a8 := &model{t: t, m: inOf(t, file, append(Pack(policy, plain, nil), Open(Target{Host: host, Activation: func(ir.DType) ir.DType { return ir.A8 }})...)...)}
		for i, s := range steps {
			want := rounded.step(s)
			require.Equal(t, want, packed.step(s), "%s, step %d: packed", file, i)
			require.Equal(t, want, opened.step(s), "%s, step %d: opened", file, i)
			for l := range rounded.m.Layers {
				require.Equal(t, rounded.states[l], packed.states[l], "%s, step %d, state of layer %d", file, i, l)
			}
			// Eight bits an activation lose about a hundredth; a route that flips would lose far more.
			require.Less(t, distance(a8.step(s), want), 0.1, "%s, step %d: a8", file, i)
		}
	}
}

// distance returns the root mean square of a-b over that of b.
func distance(a, b []float32) float64 {
	var diff, norm float64
	for i := range b {
		d := float64(a[i] - b[i])
		diff, norm = diff+d*d, norm+float64(b[i])*float64(b[i])
	}
	return math.Sqrt(diff / norm)
}

// TestEarly: where the layer adds nothing to the residual stream before it
// routes, the guess is the route.
func TestEarly(t *testing.T) {
	for _, file := range []string{"pack_olmoe", "pack_mix"} {
		m := &model{t: t, m: inOf(t, file, Pack(Policy{}, plain, nil)...), zero: []string{"attn.o.weight", "conv.out.weight"}}
		m.step(steps[0])
		last := len(m.m.Layers) - 1
		guess := map[string]*interp.Tensor{"x": m.values["x"]}
		m.eval(m.m.Graph(m.m.Layers[last]+".early"), last, guess)
		require.Equal(t, m.values["experts.ids"].I, guess["experts.ids"].I, file)
	}
}

// TestStaticMeaning: a static form computes what its signature does. The form
// sees its own keys and values before they are rounded, so both are f32 here.
func TestStaticMeaning(t *testing.T) {
	target := Target{Backend: &fake{name: "device"}, Host: &fake{name: "host"}, Static: true, Tiers: Tiers{T: []int{4}, S: []int{6}, R: []int{3}}}
	m := &model{t: t, m: inOf(t, "pack_mix", append(Pack(Policy{}, plain, nil), Open(target)...)...)}
	const past, rows = 6, 4
	r := rand.New(rand.NewPCG(5, 6))
	x := interp.Floats(random(r, rows*64), rows, 64)
	state := interp.New(mustBind(t, m.m.Graph("c1.body").Value("state").Type, lower.Dims{"S": past + rows}))
	fixed := map[string]*interp.Tensor{"x": x, "pos": interp.Ints([]int32{6, 7, 8, 9}, rows), "mask": interp.Floats(make([]float32, rows*(past+rows)), rows, past+rows)}
	for i, part := range state.Parts {
		copy(part.F, random(r, past*32))
		fixed[fmt.Sprint("past.", i)] = interp.Floats(slices.Clone(part.F[:past*32]), past, 2, 16)
	}
	for q := range rows {
		for k := q + 1; k < rows; k++ {
			fixed["mask"].F[q*(past+rows)+past+k] = float32(math.Inf(-1))
		}
	}
	ragged := map[string]*interp.Tensor{"x": x, "pos": fixed["pos"], "state": state}
	for name, v := range map[string][]int32{"seq": {0, rows}, "past": {past}, "base": {0}, "parent": {-1}} {
		ragged[name] = interp.Ints(v, len(v))
	}
	m.eval(m.m.Graph("c1.body"), 1, ragged)
	m.eval(m.m.Graph("c1.body@T4,S6"), 1, fixed)
	require.Less(t, distance(fixed["ffn.norm"].F, ragged["ffn.norm"].F), 1e-6)
	for i, part := range state.Parts {
		require.Equal(t, part.F[past*32:], fixed[fmt.Sprint("new.", i)].F)
	}

	in := map[string]*interp.Tensor{"x": x, "rows": interp.Ints([]int32{0, 2, 3}, 3), "w": interp.Floats([]float32{1, 2, 3}, 3), "y": interp.Floats(make([]float32, rows*64), rows, 64)}
	m.eval(m.m.Graph("expert0"), 1, in)
	gathered := slices.Concat(x.F[:64], x.F[128:])
	out := map[string]*interp.Tensor{"x": interp.Floats(gathered, 3, 64), "w": in["w"]}
	m.eval(m.m.Graph("expert0@R3"), 1, out)
	require.Equal(t, slices.Concat(in["y"].F[:64], in["y"].F[128:]), out[""].F)
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func mustBind(t *testing.T, ty ir.Type, dims lower.Dims) ir.Type {
	t.Helper()
	b, err := dims.Bind(ty)
	require.NoError(t, err)
	return b
}
