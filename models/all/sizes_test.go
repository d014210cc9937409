package all_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
	"estream/models/all"
)

// A count is numbers of parameters. A tied head counts with the embedding.
type count struct {
	Params  int64 `json:"params"`
	Experts int64 `json:"expert_params"`
	Active  int64 `json:"active_params"`
	Layers  int   `json:"layers"`
}

func elements(t ir.Type) int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d.N)
	}
	return n
}

// each calls f with every weight of a model and how many of it there are.
func each(c *models.Config, m *ir.Module, f func(w *ir.Value, times int64)) {
	for _, g := range m.Graphs {
		for _, w := range g.Weights() {
			f(w, 1)
		}
		for _, v := range g.Values {
			if v.Body == nil {
				continue
			}
			for _, w := range v.Body.Weights() {
				f(w, int64(c.NumExperts))
			}
		}
	}
}

// The published models have as many parameters as they should.
func TestPublishedModels(t *testing.T) {
	text, err := os.ReadFile("testdata/configs/sizes.json")
	require.NoError(t, err)
	want := map[string]count{}
	require.NoError(t, json.Unmarshal(text, &want))
	require.Len(t, want, len(tiny))
	for name, want := range want {
		c := config(t, filepath.Join("testdata/configs", name+".config.json"), nil)
		f, err := models.Find(all.Families(), c.Architectures[0])
		require.NoError(t, err, name)
		m, err := models.Build(f, c)
		require.NoError(t, err, name)
		got := count{Layers: len(m.Layers)}
		each(c, m, func(w *ir.Value, times int64) {
			n := times * elements(w.Type)
			if w.Name == "head.weight" && c.TieWordEmbeddings || f.Weights[w.Name].Buffer {
				return
			}
			got.Params, got.Active = got.Params+n, got.Active+n
			if times > 1 {
				got.Experts, got.Active = got.Experts+n, got.Active-n+n*int64(c.NumExpertsPerTok)/times
			}
		})
		require.Equal(t, want, got, name)
	}
}

func BenchmarkBuildFullSize(b *testing.B) {
	c := config(b, "testdata/configs/Qwen3-30B-A3B.config.json", nil)
	for b.Loop() {
		_, err := build(c)
		require.NoError(b, err)
	}
}
