package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/passes"
)

// lineage lists what a value of the last column was made of, the newest first.
func lineage(t *testing.T, d document, graph, name string) []string {
	t.Helper()
	c := len(d.Columns) - 1
	g := slices.IndexFunc(d.Columns[c].Graphs, func(g graphOf) bool { return g.Name == graph })
	require.GreaterOrEqual(t, g, 0, graph)
	v := slices.IndexFunc(d.Columns[c].Graphs[g].Values, func(v value) bool { return v.Name == name })
	require.GreaterOrEqual(t, v, 0, "%s in %s", name, graph)
	var out []string
	for {
		x := d.Columns[c].Graphs[g].Values[v]
		made := map[bool]string{true: " made"}[x.Made && c > 0]
		out = append(out, fmt.Sprintf("%s %s %s %s%s", d.Columns[c].Name, d.Columns[c].Graphs[g].Name, x.Name, x.Op, made))
		if x.From == nil {
			return out
		}
		c, g, v = c-1, x.From[0], x.From[1]
	}
}

type graphOf = graph // a parameter of lineage hides the name

func TestLineage(t *testing.T) {
	_, d := written(t, source(t, "deepseek", "w4"))
	for _, c := range []struct {
		graph, name string
		want        []string
	}{
		{"c1.body", "ffn.norm.a8", []string{
			"plan-memory c1.body ffn.norm.a8 quantize", "bind-dims c1.body ffn.norm.a8 quantize", "legalize c1.body ffn.norm.a8 quantize made",
			"layout c1.body ffn.norm rmsnorm", "split c1.body ffn.norm rmsnorm", "extract-expert layer1 ffn.norm rmsnorm", "quantize layer1 ffn.norm rmsnorm",
			"dce layer1 ffn.norm rmsnorm", "canonicalize layer1 ffn.norm rmsnorm", "family layer1 ffn.norm rmsnorm",
		}},
		{"c1.tail", "experts", []string{
			"plan-memory c1.tail experts input", "bind-dims c1.tail experts input", "legalize c1.tail experts input", "layout c1.tail experts input", "split c1.tail experts input made",
			"extract-expert layer1 experts experts", "quantize layer1 experts experts", "dce layer1 experts experts", "canonicalize layer1 experts experts", "family layer1 experts experts",
		}},
		{"expert0", "rows", []string{
			"plan-memory expert0 rows input", "bind-dims expert0 rows input", "legalize expert0 rows input", "layout expert0 rows input", "split expert0 rows input", "extract-expert expert0 rows input made",
			"quantize layer1 experts experts", "dce layer1 experts experts", "canonicalize layer1 experts experts", "family layer1 experts experts",
		}},
		{"expert0", "expert.up.weight", []string{
			"plan-memory expert0 expert.up.weight weight", "bind-dims expert0 expert.up.weight weight", "legalize expert0 expert.up.weight weight", "layout expert0 expert.up.weight weight",
			"split expert0 expert.up.weight weight", "extract-expert expert0 expert.up.weight weight",
			"quantize expert expert.up.weight weight", "dce expert expert.up.weight weight", "canonicalize expert expert.up.weight weight", "family expert expert.up.weight weight",
		}},
	} {
		require.Equal(t, c.want, lineage(t, d, c.graph, c.name), "%s in %s", c.name, c.graph)
	}
}

// Layers that print equal are one graph, and a page of any number of them no longer.
func TestLayersShareGraphs(t *testing.T) {
	_, d := written(t, source(t, "qwen3", "w4"))
	require.Equal(t, "layer0", d.Columns[0].Graphs[1].Name)
	require.Equal(t, []any{"0–2", 3}, []any{d.Columns[0].Graphs[1].Layers, d.Columns[0].Graphs[1].Share})
	for _, col := range d.Columns {
		require.Less(t, len(col.Graphs), 10, col.Name)
	}
}

// A pass whose result depends on numbers or origins cannot be followed, and says so.
func TestStepRefuses(t *testing.T) {
	m, err := ir.Parse("graph g\n  %7:x = input : f32[T,4]\n  %9:y = add %7 %7 : f32[T,4]\n  return %9\n", coreOps(t))
	require.NoError(t, err)
	p := passes.Pass{Name: "odd", Run: func(m *ir.Module) error {
		if m.Graphs[0].Values[0].ID != 7 {
			m.Graphs = append(m.Graphs, &ir.Graph{Name: "h"}, m.Graphs[0].Clone())
			m.Graphs[2].Name = "i"
		}
		return nil
	}}
	_, err = step(m, p)
	require.EqualError(t, err, "pass odd depends on the numbers or origins of values")
}

func coreOps(t *testing.T) ir.Ops {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	return ops
}

func TestText(t *testing.T) {
	require.Equal(t, "0–2, 5, 7–8", ranges([]int{0, 1, 2, 5, 7, 8}))
	require.Empty(t, ranges(nil))
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 30532122624: "30,532,122,624"} {
		require.Equal(t, want, digits(n))
	}
	for n, want := range map[int64]string{5: "5 B", 1536: "1.5 KiB", 15 << 30: "15.0 GiB", 2 << 40: "2.0 TiB"} {
		require.Equal(t, want, size(n))
	}
	for n, want := range map[int64]string{9999: "9999", 12345: "12.3 thousand", 5e6: "5.0 million", 30532122624: "30.53 billion"} {
		require.Equal(t, want, count(n))
	}
	attr := &ir.Value{ID: 3, Op: ir.RoPE, Args: []*ir.Value{{ID: 1, Op: ir.Input}, {ID: 2, Op: ir.Input}}, Attr: ir.RoPEAttr{Theta: 1e4}, Type: ir.Tensor(ir.F32, ir.T, ir.N(2), ir.N(4)), Origin: "split/%1"}
	require.Equal(t, "theta=10000 interleaved=false", attribute(attr))
	require.Empty(t, attribute(&ir.Value{ID: 1, Name: "x", Op: ir.Input, Type: ir.Tensor(ir.F32, ir.T)}))
}
