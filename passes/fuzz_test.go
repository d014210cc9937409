package passes

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// FuzzPasses: no module that verifies makes a pass panic or half-apply, or leave
// a module that does not verify. Text that is mutated as such seldom verifies, so
// the seed changes the module that it spells too.
func FuzzPasses(f *testing.F) {
	texts := modules(f)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for seed := range uint64(4) {
			f.Add(texts[name], seed)
		}
	}
	ops, err := ir.Core()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		m, err := ir.Parse(text, ops)
		if err != nil || len(m.Graphs) == 0 || m.Verify() != nil {
			return
		}
		for range seed % 64 {
			m = mutate(rand.New(rand.NewPCG(seed, 0)), m)
			seed++
		}
		for _, list := range fuzzLists() {
			runHostile(t, m.Clone(), list)
		}
	})
}

func fuzzLists() [][]Pass {
	a8 := func(ir.DType) ir.DType { return ir.A8G128 }
	policy := Policy{Experts: ir.W4G128, Attention: ir.W4Full64, Head: ir.W8, Embed: ir.W8}
	device := Target{Backend: &fake{name: "device"}, Host: &fake{name: "host"}, Static: true, Tiers: Tiers{T: []int{2}, S: []int{3}, R: []int{2}}, Activation: a8}
	host := Target{Host: &fake{name: "host"}, Activation: a8}
	return [][]Pass{slices.Concat(Pack(policy, plain, nil), Open(host)), Open(host), Open(device)}
}

func runHostile(t *testing.T, m *ir.Module, list []Pass) {
	for _, p := range list {
		before := m.String()
		if p.Run(m) != nil {
			require.Equal(t, before, m.String(), "%s half-applied", p.Name)
			break
		}
		require.NoError(t, m.Verify(), "%s broke:\n%s\ninto:\n%s", p.Name, before, m)
	}
	_, _ = Records(m, plain)
}

// mutate returns m with one thing changed, or m itself if that does not verify.
func mutate(r *rand.Rand, m *ir.Module) *ir.Module {
	c := m.Clone()
	if r.IntN(4) == 0 {
		mutateNames(r, c)
		if c.Verify() != nil {
			return m
		}
		return c
	}
	g := c.Graphs[r.IntN(len(c.Graphs))]
	if len(g.Values) == 0 {
		return m
	}
	v, w := g.Values[r.IntN(len(g.Values))], g.Values[r.IntN(len(g.Values))]
	switch r.IntN(7) {
	case 0:
		if len(v.Args) > 0 {
			v.Args[r.IntN(len(v.Args))] = w
		}
	case 1:
		v.Name, w.Name = w.Name, v.Name
	case 2:
		if isSource(v) {
			v.Type.DType = []ir.DType{ir.F32, ir.BF16, ir.W8, ir.W4G64, ir.A8, ir.I32}[r.IntN(6)]
		}
	case 3:
		g.Outputs = append(g.Outputs, v)
	case 4:
		if len(g.Outputs) > 0 {
			g.Outputs[r.IntN(len(g.Outputs))] = v
		}
	case 5:
		names := []string{"x", "y", "rows", "state", "mask", "new.0", "past.0", "h.a8", "experts.ids"}
		v.Name = names[r.IntN(len(names))]
	case 6:
		u := *v
		u.ID, u.Name, u.Args = len(g.Values)*7, "", slices.Clone(v.Args)
		g.Values = slices.Insert(g.Values, slices.Index(g.Values, v)+1, &u)
		if len(w.Args) > 0 {
			w.Args[r.IntN(len(w.Args))] = &u
		}
	}
	if retype(g) != nil || c.Verify() != nil {
		return m
	}
	return c
}

// mutateNames has a layer, experts or a graph named otherwise.
func mutateNames(r *rand.Rand, m *ir.Module) {
	g := m.Graphs[r.IntN(len(m.Graphs))]
	if len(m.Layers) > 0 && r.IntN(3) == 0 {
		class, _, _ := strings.Cut(g.Name, ".")
		m.Layers[r.IntN(len(m.Layers))] = []string{g.Name, class}[r.IntN(2)]
		return
	}
	from, to := g.Name, m.Graphs[r.IntN(len(m.Graphs))].Name // whom experts call
	if r.IntN(2) == 0 {
		names := []string{"head", "head.norm", EmbedGraph, "layer0", "c0", "c0.route", "expert0", "expert0@static", strings.Repeat("x", 200)}
		to = names[r.IntN(len(names))]
		g.Name = to
		for i, l := range m.Layers {
			if l == from {
				m.Layers[i] = to
			}
		}
	}
	for _, g := range m.Graphs {
		for _, v := range g.Values {
			if a, ok := v.Attr.(ir.ExpertsAttr); ok && a.Callee == from {
				a.Callee = to
				v.Attr = a
			}
		}
	}
}
