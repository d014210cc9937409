package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/host/kernel"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
)

// The reasons that keep graphs off a device, and what helps.
func TestCoverage(t *testing.T) {
	s := source(t, "lfm2", "w4")
	npu := static.New(lowertest.NewNPU(), passes.Tiers{T: []int{4, 8}, S: []int{8}, R: []int{2}})
	s.Backends = append(s.Backends, Backend{npu, "a device of fixed shapes"})
	v, err := look(s)
	require.NoError(t, err)
	require.Len(t, v.Coverage, 2)

	h := v.Coverage[0]
	require.Equal(t, coverage{Name: "host", Doc: "the host", Reads: true, Runs: 16, Of: 16, Graphs: h.Graphs}, h)
	for _, g := range h.Graphs {
		require.Equal(t, covered{Graph: g.Graph, Share: g.Share, On: "host"}, g)
	}

	n := v.Coverage[1]
	require.Equal(t, "its programs read the packing npu.kn, the package has host: estream repack --backend npu", n.Remedy)
	require.False(t, n.Reads)
	at := map[string]covered{}
	for _, g := range n.Graphs {
		at[g.Graph] = g
	}
	require.Equal(t, covered{Graph: "c1.body", Share: 1, On: "npu"}, at["c1.body"])
	require.Equal(t, covered{Graph: "c2.route", Share: 1, On: "host", Why: "routing stays on the host, so that ties and NaN have one rule"}, at["c2.route"])
	require.Equal(t, covered{Graph: "embed", On: "host", Why: "its rows have no tiers of fixed extents"}, at["embed"])
	require.Equal(t, "npu", at["c2.experts"].On)
	require.Equal(t, "npu", at["c0.body"].On, "a short convolution")

	text, _ := written(t, s)
	requireText(t, text, "It does not read the package's packing")
}

// picky is the host without an operator, and with a type that it does not take.
type picky struct{ lower.Backend }

func (p picky) Supports(v *ir.Value) error {
	if v.Op == ir.Softmax {
		return fmt.Errorf("picky: softmax: no: %w", lower.ErrUnsupported)
	}
	return p.Backend.Supports(v)
}

func (p picky) Ops() []*ir.Op { return []*ir.Op{ir.MatMul} }

// A package that the host cannot run is shown all the same, with what helps.
func TestHostRefuses(t *testing.T) {
	s := source(t, "olmoe", "w4")
	s.Host = picky{host.New(host.Options{Kernels: &kernel.Set{}})}
	s.Backends = []Backend{{s.Host, ""}}
	text, d := written(t, s)
	requireText(t, text, "The host cannot run this package: pass legalize: no backend can run these values")
	require.Equal(t, "layout", d.Columns[len(d.Columns)-1].Name)
	v, err := look(s)
	require.NoError(t, err)
	require.Contains(t, v.Coverage[0].Fault, "c0.route")
	for _, g := range v.Coverage[0].Graphs {
		if g.Graph == "c0.early" {
			require.Len(t, g.Reasons, 1)
			continue
		}
		if g.Graph != "c0.route" {
			require.Empty(t, g.Reasons, g.Graph)
			continue
		}
		require.Equal(t, []reason{{"%4", "softmax", "picky: softmax: no", "give the host a function for softmax by a plug-in (docs/adding-an-operator.md)"}}, g.Reasons)
	}
}

func TestRemedy(t *testing.T) {
	s := source(t, "olmoe", "f32")
	npu := static.New(lowertest.NewNPU(), passes.Tiers{})
	for _, c := range []struct{ op, why, want string }{
		{"topk", "npu: topk: no such operator", "the host runs the graph meanwhile; for npu to run it, give it the operator topk (docs/adding-a-backend.md)"},
		{"matmul", "f32[T,64], w4full32[8,64] -> f32[T,8]: npu: operand type", "or pack with another --encoding: npu takes f32, f16, bf16, w8, w4g32, w4g64, w4g128"},
		{"add", "npu: too large", "the host runs the graph; nothing need be done unless it is slow"},
	} {
		require.Contains(t, s.remedy(npu, c.op, c.why), c.want, "%s: %s", c.op, c.why)
	}
}

// Weights that the device does not read keep their graph off it, by value.
func TestCoverageByType(t *testing.T) {
	s := source(t, "mixtral", "w4full")
	s.Backends = []Backend{{static.New(lowertest.NewNPU(), passes.Tiers{T: []int{4, 8}, S: []int{8}, R: []int{2, 4}}), ""}}
	v, err := look(s)
	require.NoError(t, err)
	graphs := v.Coverage[0].Graphs
	calls := graphs[slices.IndexFunc(graphs, func(g covered) bool { return g.Graph == "c0.experts" })]
	require.Equal(t, []any{"host", "it calls the experts' graph, and stands where that does"}, []any{calls.On, calls.Why})
	x := graphs[len(graphs)-1]
	require.Equal(t, []any{"expert0", "host"}, []any{x.Graph, x.On})
	require.Len(t, x.Reasons, 3, "one a matrix, whatever the tiers: %v", x.Reasons)
	require.Equal(t, "%4:expert.gate", x.Reasons[0].Value)
	require.Contains(t, x.Reasons[0].Why, "operand type")
	require.Contains(t, x.Reasons[0].Remedy, "pack with another --encoding: npu takes f32, f16, bf16, w8, w4g32, w4g64, w4g128")
}
