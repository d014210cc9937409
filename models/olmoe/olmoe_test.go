package olmoe_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
	"estream/models"
	"estream/models/olmoe"
)

var update = flag.Bool("update", false, "rewrite testdata")

const tiny = "../../testdata/olmoe/"

// config reads a config.json with keys changed.
func config(t testing.TB, path string, edits map[string]any) *models.Config {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if edits != nil {
		values := map[string]any{}
		require.NoError(t, json.Unmarshal(text, &values))
		maps.Copy(values, edits)
		text, err = json.Marshal(values)
		require.NoError(t, err)
	}
	c, err := models.ReadConfig(text)
	require.NoError(t, err)
	return c
}

func build(t testing.TB, c *models.Config) *ir.Module {
	t.Helper()
	m, err := models.Build(olmoe.Family, c)
	require.NoError(t, err)
	return m
}

func TestBothSpellingsOfConfig(t *testing.T) {
	old, now := config(t, tiny+"config.json", nil), config(t, tiny+"config.transformers5.json", nil)
	require.Equal(t, build(t, old).String(), build(t, now).String())
	old.Settings, now.Settings = nil, nil
	require.Equal(t, old, now)
}

// TestLayer compares the layer with testdata/layer.txtar: every file is named for the settings that it is built with.
func TestLayer(t *testing.T) {
	const path = "testdata/layer.txtar"
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	for i, f := range archive.Files {
		edits := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(f.Name), &edits), f.Name)
		m := build(t, config(t, tiny+"config.json", edits))
		got := m.Graph("layer0").String()
		require.Equal(t, got[len("graph layer0"):], m.Graph("layer2").String()[len("graph layer2"):], "layers differ")
		if *update {
			archive.Files[i].Data = []byte(got)
			continue
		}
		require.Equal(t, string(bytes.TrimSpace(f.Data))+"\n", got, f.Name)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
	}
}

// The published model has as many parameters as it should.
func TestFullSize(t *testing.T) {
	c := config(t, "testdata/OLMoE-1B-7B-0924.config.json", nil)
	m := build(t, c)
	require.Len(t, m.Layers, 16)
	var all, experts int
	count := func(weights []*ir.Value, times int) (n int) {
		for _, w := range weights {
			size := times
			for _, d := range w.Type.Dims {
				size *= d.N
			}
			n += size
		}
		return n
	}
	for _, g := range m.Graphs {
		all += count(g.Weights(), 1)
		for _, v := range g.Values {
			if v.Body != nil {
				experts += count(v.Body.Weights(), c.NumExperts)
			}
		}
	}
	require.Equal(t, 6442450944, experts)
	require.Equal(t, 6919161856, all+experts)
}

// Settings that OLMoE does not have are refused by name.
func TestForeignSettings(t *testing.T) {
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"attention_bias", true, "attention_bias is true"},
		{"hidden_act", "gelu", `hidden_act is "gelu"`},
		{"rope_scaling", map[string]any{"type": "linear", "factor": 2.0}, `rope_scaling is {"factor":2,"rope_type":"linear"}`},
		{"sliding_window", 4096, "sliding_window is 4096"},
		{"clip_qkv", -8, "clip_qkv is -8: want a number from 0"},
		{"norm_topk_prob", "no", `norm_topk_prob is "no": want true or false`},
		{"head_dim", 7, "config.json: head_dim is 7: rotary embedding needs an even number"},
		{"moe_intermediate_size", 16, "config.json: moe_intermediate_size is 16: the family does not know this setting"},
		{"use_qk_norm", false, "config.json: use_qk_norm is false: the family does not know this setting"},
	} {
		_, err := models.Build(olmoe.Family, config(t, tiny+"config.json", map[string]any{c.key: c.value}))
		require.ErrorContains(t, err, c.want)
	}
}

func BenchmarkBuildFullSize(b *testing.B) {
	c := config(b, "testdata/OLMoE-1B-7B-0924.config.json", nil)
	for b.Loop() {
		build(b, c)
	}
}
