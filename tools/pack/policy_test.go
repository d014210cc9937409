package pack

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/pager/layout"
)

// Activations are spoken of where some weight is encoded, and only there.
func TestPolicyOfActivations(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	for _, c := range []struct {
		encoding string
		experts  ir.DType
		want     string
	}{
		{"f32", ir.F32, ""},
		{"bf16", ir.BF16, ""},
		{"bf16", ir.Invalid, ""},
		{"bf16", ir.W8, "a8: int8 with a scale a row, where weights are encoded"},
		{"w4", ir.W4G64, "a8: int8 with a scale a row, where weights are encoded"},
	} {
		o := options(t, c.encoding)
		o.Encoding.Experts = c.experts
		dir, report := packed(t, from, o)
		require.Equal(t, c.want, policyOf(report, "activations"), "%s, experts %s", c.encoding, c.experts)
		there := slices.ContainsFunc(load(t, dir, o.Packing).man.Policy, func(kv layout.KeyValue) bool { return kv.Key == "activations" })
		require.Equal(t, c.want != "", there, "%s, experts %s", c.encoding, c.experts)
	}
}

func TestParseKind(t *testing.T) {
	for s, want := range map[string]ir.DType{"exact": ir.Invalid, "f32": ir.F32, "w8": ir.W8, "w4": ir.W4G64, "w4g64": ir.W4G64, "w4full": ir.W4Full32, "w4full32": ir.W4Full32} {
		got, err := ParseKind("experts", s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, c := range [][3]string{
		{"experts", "w5", `unknown encoding "w5" for experts: use exact, f32, bf16, w8, w4 (w4g64), w4g32, w4g128 or w4full (w4full32)`},
		{"experts", "", `unknown encoding "" for experts: use exact, f32, bf16, w8, w4 (w4g64), w4g32, w4g128 or w4full (w4full32)`},
		{"embed", "w4", `encoding w4 for embed: embeddings are read row by row and take exact, f32, bf16 or w8`},
	} {
		_, err := ParseKind(c[0], c[1])
		require.EqualError(t, err, c[2])
	}
}

// Graphs of which one decision holds are named without those in between.
func TestRuns(t *testing.T) {
	order := []string{"embed", "layer0", "layer1", "layer2", "layer3", "layer4"}
	for want, graphs := range map[string][]string{
		"layer0 to layer4":                order[1:],
		"layer0, layer2":                  {"layer0", "layer2"},
		"layer0 to layer1, layer4":        {"layer0", "layer1", "layer4"},
		"embed, layer1, layer3 to layer4": {"embed", "layer1", "layer3", "layer4"},
	} {
		require.Equal(t, want, runs(graphs, order), "%v", graphs)
	}
}
