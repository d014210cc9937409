package synth_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/synth"
)

// The published models have as many parameters as they should, matrices in int4
// take 4.5 bits a value with groups of 32, and files add up to their weights.
func TestPlanPublished(t *testing.T) {
	type size struct {
		Params  int64 `json:"params"`
		Experts int64 `json:"expert_params"`
		Active  int64 `json:"active_params"`
		Layers  int   `json:"layers"`
	}
	const configs = "../../testdata/configs"
	text, err := os.ReadFile(filepath.Join(configs, "sizes.json"))
	require.NoError(t, err)
	want := map[string]size{}
	require.NoError(t, json.Unmarshal(text, &want))
	require.Len(t, want, 5)
	for name, want := range want {
		o := options(t, "w4g32")
		o.Encoding.Attention, o.Encoding.Head = o.Encoding.Experts, o.Encoding.Experts
		plan, err := synth.Plan(t.Context(), filepath.Join(configs, name+".config.json"), 1, o)
		require.NoError(t, err, name)
		require.Equal(t, want, size{plan.Params, plan.Experts, plan.Active, plan.Layers}, name)

		int4, weights := [2]int64{}, int64(0)
		for _, k := range plan.Kinds {
			weights += k.Bytes
			if k.Type == o.Encoding.Experts {
				int4[0], int4[1] = int4[0]+k.Values, int4[1]+k.Bytes
			}
			if k.Name == "experts" {
				require.Equal(t, want.Experts, k.Values, name)
			}
		}
		require.Greater(t, float64(int4[0]), 0.95*float64(want.Params), name)
		require.InEpsilon(t, 4.5/8*float64(int4[0]), int4[1], 0.01, name)
		records := plan.Files[0].Size + plan.Files[1].Size
		require.Equal(t, []string{layout.DenseName, layout.ExpertsName, layout.ManifestName}, []string{plan.Files[0].Name, plan.Files[1].Name, plan.Files[2].Name}, name)
		require.Equal(t, plan.Written, records, name)
		require.InEpsilon(t, weights, records, 0.01, name)
	}
}

// A plan is of the package that is then made.
func TestPlanOfPackage(t *testing.T) {
	for _, encoding := range []string{"w4full", "f32"} {
		plan, err := synth.Plan(t.Context(), tiny, 7, options(t, encoding))
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "p")
		_, err = synth.Package(t.Context(), tiny, dir, 7, options(t, encoding))
		require.NoError(t, err)
		for _, f := range plan.Files {
			st, err := os.Stat(filepath.Join(dir, f.Name))
			require.NoError(t, err)
			require.Equal(t, st.Size(), f.Size, "%s, %s", encoding, f.Name)
		}
	}
}

// U14: rows of 896 and 1408 are no whole blocks of 256, but groups of 128 and less are what encodings have. Where a
// tensor's rows are no whole groups, it has smaller ones, or int8, of which the plan tells and the package keeps record.
func TestRowsOfNoGroups(t *testing.T) {
	for _, c := range []struct {
		hidden, inner, encoding string
		gate, down              string // their types
	}{
		{"896", "1408", "w4g32", "w4g32", "w4g32"},
		{"896", "1408", "w4g64", "w4g64", "w4g64"},
		{"896", "1408", "w4g128", "w4g128", "w4g128"},
		{"896", "1408", "w4full", "w4full32", "w4full32"},
		{"960", "1440", "w4g128", "w4g64", "w4g32"},
		{"960", "1416", "w4full", "w4full32", "w8"},
		{"160", "24", "w4g128", "w4g32", "w8"},
	} {
		path := edited(t, `"hidden_size": 64`, `"hidden_size": `+c.hidden, `"intermediate_size": 32`, `"intermediate_size": `+c.inner)
		o := options(t, c.encoding)
		plan, err := synth.Plan(t.Context(), path, 1, o)
		require.NoError(t, err)
		for weight, kind := range map[string][2]string{"expert.gate.weight": {c.hidden, c.gate}, "expert.up.weight": {c.hidden, c.gate}, "expert.down.weight": {c.inner, c.down}} {
			want := kind[1] + ": matrix of experts"
			if asked := o.Encoding.Experts.String(); kind[1] != asked {
				want += ", rows of " + kind[0] + " values are no whole groups of " + asked
			}
			i := slices.IndexFunc(plan.Policy, func(kv layout.KeyValue) bool { return kv.Key == weight })
			require.Contains(t, plan.Policy[i].Value, want, "U14 %s of %s as %s", weight, kind[0], c.encoding)
			require.Equal(t, kind[1] == o.Encoding.Experts.String(), !strings.Contains(plan.Policy[i].Value, "no whole groups"))
		}
		if c.hidden == "160" {
			dir := filepath.Join(t.TempDir(), "p")
			_, err := synth.Package(t.Context(), path, dir, 1, o)
			require.NoError(t, err)
			m, err := runtime.Open(t.Context(), dir, runtime.Options{})
			require.NoError(t, err)
			require.Equal(t, plan.Policy, m.Manifest().Policy)
			require.NoError(t, m.Close())
		}
	}
}
