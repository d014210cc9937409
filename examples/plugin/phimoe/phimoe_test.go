package phimoe_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/plugin/mixer"
	"example.com/plugin/phimoe"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower/host"
	"estream/models"
	"estream/models/checkpoint"
	"estream/runtime"
	"estream/tools/check"
	"estream/tools/pack"
)

const tiny = "../testdata/phimoe"

// options open packages that use the operator.
func options(t testing.TB) runtime.Options {
	ops, err := ir.Core(mixer.Op)
	require.NoError(t, err)
	return runtime.Options{Ops: ops, Host: host.New(host.Options{Ops: map[*ir.Op]host.Func{mixer.Op: mixer.Host}})}
}

func packed(t testing.TB, encoding string) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "p.estream")
	_, err = pack.Run(t.Context(), tiny, dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
		Families: []models.Family{phimoe.Family}, Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

// What PyTorch computed, by the paged runtime and by the interpreter.
func TestGoldens(t *testing.T) {
	dir := packed(t, "f32")
	table := interp.Core()
	table[mixer.Op] = mixer.Reference
	for _, prompt := range []string{"p1", "p7", "p33", "batch", "ragged0", "ragged1", "ragged2"} {
		r, err := check.Run(t.Context(), dir, filepath.Join(tiny, "goldens.safetensors"), check.Options{Prompt: prompt, Tolerance: 1e-4, Runtime: options(t), Interp: table})
		require.NoError(t, err, prompt)
		require.Equal(t, check.Agrees, r.Verdict, "%s: %+v", prompt, r.Rows)
		require.Len(t, r.Rows, 1, prompt)
		require.Less(t, float64(r.Rows[0].Ours.Abs), 1e-4, prompt)
		require.Less(t, float64(r.Rows[0].Interp.Abs), 1e-4, prompt)
	}
}

// A prompt's logits do not depend on what runs beside it, in any encoding.
func TestBatches(t *testing.T) {
	prompts := [][]int32{{3, 1, 4, 1, 5}, {9, 2, 6}, {5, 3, 5, 8, 9, 7, 9}}
	for _, encoding := range []string{"f32", "w8", "w4g32"} {
		m, err := runtime.Open(t.Context(), packed(t, encoding), options(t))
		require.NoError(t, err)
		together, err := m.Run(t.Context(), runtime.Batch{Prompts: prompts, Logits: runtime.All})
		require.NoError(t, err)
		var apart []float32
		for _, p := range prompts {
			one, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{p}, Logits: runtime.All})
			require.NoError(t, err)
			apart = append(apart, one.Logits...)
		}
		require.Equal(t, apart, together.Logits, encoding)
		require.NoError(t, m.Close())
	}
}

// config returns the tiny model's with some keys changed.
func config(t testing.TB, file string, change map[string]any) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tiny, file))
	require.NoError(t, err)
	keys := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &keys))
	for k, v := range change {
		keys[k] = v
	}
	text, err = json.Marshal(keys)
	require.NoError(t, err)
	return text
}

func build(text []byte) (*ir.Module, error) {
	c, err := models.ReadConfig(text)
	if err != nil {
		return nil, err
	}
	return models.Build(phimoe.Family, c)
}

// Each setting changes the graphs as it should, or is refused by name.
func TestSettings(t *testing.T) {
	asItIs, err := build(config(t, "config.json", nil))
	require.NoError(t, err)
	five, err := build(config(t, "config.transformers5.json", nil))
	require.NoError(t, err)
	require.Equal(t, asItIs.String(), five.String())
	for _, c := range []struct {
		change  map[string]any
		has     string // a part of the text that the change brings
		refused string
	}{
		{map[string]any{"attention_bias": false, "lm_head_bias": false}, "attn.q = matmul", ""},
		{map[string]any{"sliding_window": 5}, "window=5", ""},
		{map[string]any{"router_jitter_noise": 0.25}, "jitter=0.25", ""},
		{map[string]any{"rms_norm_eps": 0.5}, "eps=0.5", ""},
		{map[string]any{"input_jitter_noise": 0.01}, "jitter=0.01", ""},
		{map[string]any{"num_experts_per_tok": 3}, "", "config.json: num_experts_per_tok is 3: want 2"},
		{map[string]any{"hidden_act": "gelu"}, "", `config.json: hidden_act is "gelu": want "silu"`},
		{map[string]any{"rope_scaling": map[string]any{"type": "longrope", "short_factor": []float64{1}}}, "",
			`config.json: rope_scaling.rope_type is "longrope": want default, linear or yarn`},
		{map[string]any{"num_shared_experts": 1}, "", "config.json: num_shared_experts is 1: the family does not know this setting"},
	} {
		m, err := build(config(t, "config.json", c.change))
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused)
			continue
		}
		require.NoError(t, err, "%v", c.change)
		require.Contains(t, m.String(), c.has, "%v", c.change)
	}
	plain, err := build(config(t, "config.json", map[string]any{"attention_bias": false, "lm_head_bias": false}))
	require.NoError(t, err)
	for _, name := range []string{"attn.q.bias", "attn.k.bias", "attn.v.bias", "attn.o.bias", "head.bias"} {
		require.Contains(t, asItIs.String(), name)
		require.NotContains(t, plain.String(), name)
	}
}
