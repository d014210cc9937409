package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// Two layers: a dense one, and one with experts and a side graph.
const module = `layers c0 c1

graph embed
  %1:ids = input : i32[T]
  %2:embed.weight = weight offset=0 : f32[U,4]
  %3:embed = embed %2 %1 : f32[T,4]
  return %3

graph c0.body
  %1:x = input : f32[T,4]
  %2:ffn.down.weight = weight offset=0 : f32[4,4]
  %3:ffn.down = matmul %1 %2 : f32[T,4]
  %4:y = add %1 %3 : f32[T,4]
  return %4

graph c1.body
  %1:x = input : f32[T,4]
  %2:h = silu %1 : f32[T,4]
  return %2

graph c1.route
  %1:h = input : f32[T,4]
  %2:experts.ids = topk %1 k=2 : i32[T,2]
  %3:experts.weights = gather %1 %2 : f32[T,2]
  return %2 %3

graph c1.side
  %1:h = input : f32[T,4]
  %2:t7 = silu %1 : f32[T,4]
  return %2

graph c1.experts
  %1:h = input : f32[T,4]
  %2:experts.ids = input : i32[T,2]
  %3:experts.weights = input : f32[T,2]
  %4:experts = experts %1 %2 %3 callee=expert0 : f32[T,4]
  return %4

graph c1.tail
  %1:experts = input : f32[T,4]
  %2:t7 = input : f32[T,4]
  %3:y = add %1 %2 : f32[T,4]
  return %3

graph head.norm
  %1:x = input : f32[L,4]
  %2:final.norm.weight = weight offset=0 : f32[4]
  %3:final.norm = rmsnorm %1 %2 eps=1e-05 : f32[L,4]
  return %3
`

func TestPair(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(module, ops)
	require.NoError(t, err)
	p := &pkg{module: m}
	for _, c := range []struct {
		tensor string
		layer  int
		value  string
		graph  string
		terms  []string
	}{
		{"embed", -1, "embed", "embed", []string{"embed"}},
		{"ffn_out.0", 0, "ffn.down", "c0.body", []string{"ffn.down"}},
		{"ffn_out.1", 1, "experts+side", "c1.experts", []string{"experts", "t7"}},
		{"topk_ids.1", 1, "experts.ids", "c1.route", []string{"experts.ids"}},
		{"layer_out.0", 0, "y", "c0.body", []string{"y"}},
		{"layer_out.1", 1, "y", "c1.tail", []string{"y"}},
		{"final_norm", 2, "final.norm", "head.norm", []string{"final.norm"}},
	} {
		got, ok := p.pair(c.tensor, Names())
		require.True(t, ok, c.tensor)
		got.order = 0
		require.Equal(t, pair{golden: c.tensor, value: c.value, layer: c.layer, graph: c.graph, terms: c.terms}, got)
	}
	for _, tensor := range []string{"topk_ids.0", "layer_out.2", "layer_out.-1", "layer_out.x", "layer_out", "embed.0", "dream", "logits", ""} {
		got, ok := p.pair(tensor, Names())
		require.False(t, ok, "%s: %v", tensor, got)
	}
}

func TestSum(t *testing.T) {
	vs := values{{0, "a"}: {1, 2}, {0, "b"}: {10, 20}, {0, "short"}: {1}}
	for _, c := range []struct {
		terms []string
		want  []float32
	}{
		{[]string{"a"}, []float32{1, 2}},
		{[]string{"a", "b"}, []float32{11, 22}},
		{[]string{"a", "short"}, nil},
		{[]string{"none"}, nil},
		{[]string{"a", "none"}, nil},
	} {
		require.Equal(t, c.want, vs.sum(pair{terms: c.terms}), "%v", c.terms)
	}
	require.Equal(t, []float32{1, 2}, vs[place{0, "a"}], "a sum changes its terms")
}
