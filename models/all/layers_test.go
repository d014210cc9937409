package all_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
	"estream/models"
	"estream/models/all"
)

var update = flag.Bool("update", false, "rewrite testdata")

// edited returns the text of a config.json with keys changed.
func edited(t testing.TB, path string, edits map[string]any) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if edits == nil {
		return text
	}
	values := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &values))
	maps.Copy(values, edits)
	text, err = json.Marshal(values)
	require.NoError(t, err)
	return text
}

// config reads a config.json with keys changed.
func config(t testing.TB, path string, edits map[string]any) *models.Config {
	t.Helper()
	c, err := models.ReadConfig(edited(t, path, edits))
	require.NoError(t, err)
	return c
}

func build(c *models.Config) (*ir.Module, error) {
	f, err := models.Find(all.Families(), c.Architectures[0])
	if err != nil {
		return nil, err
	}
	return models.Build(f, c)
}

// TestLayers compares layers with testdata/layers, where each entry is named for
// the layer and the settings of the tiny model that are changed.
func TestLayers(t *testing.T) {
	for _, name := range tiny {
		path := filepath.Join("testdata/layers", name+".txtar")
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		require.NotEmpty(t, archive.Files)
		for i, f := range archive.Files {
			layer, settings, _ := strings.Cut(f.Name, " ")
			edits := map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(settings), &edits), f.Name)
			m, err := build(config(t, filepath.Join("../../testdata", name, "config.json"), edits))
			require.NoError(t, err, f.Name)
			got := m.Graph(layer).String()
			if *update {
				archive.Files[i].Data = []byte(got)
				continue
			}
			require.Equal(t, strings.TrimSpace(string(f.Data))+"\n", got, "%s: %s (-update rewrites the file)", path, f.Name)
		}
		if *update {
			require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
		}
	}
}

// A config.json that transformers 5 writes builds the same model.
func TestBothSpellingsOfConfig(t *testing.T) {
	for _, name := range tiny {
		folder := filepath.Join("../../testdata", name)
		old, err := build(config(t, filepath.Join(folder, "config.json"), nil))
		require.NoError(t, err)
		now, err := build(config(t, filepath.Join(folder, "config.transformers5.json"), nil))
		require.NoError(t, err)
		require.Equal(t, old.String(), now.String(), name)
	}
}

// A setting that is new to a family, or that it has no way to obey, is refused by
// name; one that asks for what it does anyway is not.
func TestSettings(t *testing.T) {
	yarn := func(edits map[string]any) map[string]any {
		m := map[string]any{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096}
		maps.Copy(m, edits)
		return m
	}
	for _, c := range []struct {
		family, key string
		value       any
		want        string // empty: it is taken
	}{
		{"olmoe", "attention_bias", true, "attention_bias is true"},
		{"olmoe", "hidden_act", "gelu", `hidden_act is "gelu"`},
		{"olmoe", "sliding_window", 4096, "sliding_window is 4096"},
		{"olmoe", "clip_qkv", -8, "clip_qkv is -8: want a number from 0"},
		{"olmoe", "norm_topk_prob", "no", `norm_topk_prob is "no": want true or false`},
		{"olmoe", "head_dim", 7, "config.json: head_dim is 7: rotary embedding needs an even number"},
		{"olmoe", "moe_intermediate_size", 16, "config.json: moe_intermediate_size is 16: want "},
		{"olmoe", "use_qk_norm", false, "config.json: use_qk_norm is false: the family does not know this setting"},
		{"olmoe", "rope_scaling", map[string]any{"type": "dynamic", "factor": 2.0}, `rope_scaling.rope_type is "dynamic": want default, linear or yarn`},
		{"olmoe", "rope_scaling", map[string]any{"factor": 2.0}, "rope_scaling.factor is 2: the family does not know this setting"},
		{"olmoe", "rope_scaling", map[string]any{"type": "linear"}, "rope_scaling.factor is not there: want a number from 1"},
		{"olmoe", "rope_scaling", map[string]any{"type": "linear", "factor": 0.5}, "rope_scaling.factor is 0.5: want a number from 1"},

		{"mixtral", "sliding_window", 4, ""},
		{"mixtral", "router_jitter_noise", 0.1, ""},
		{"mixtral", "norm_topk_prob", true, "norm_topk_prob is true: the family does not know this setting"},
		{"mixtral", "num_experts", 8, ""},
		{"mixtral", "mlp_only_layers", []int{1}, "mlp_only_layers is [1]"},

		{"qwen3", "max_window_layers", 1, ""},
		{"qwen3", "sliding_window", 4096, ""},
		{"qwen3", "use_sliding_window", true, "use_sliding_window is true: want false"}, // of no window
		{"qwen3", "mlp_only_layers", []int{3}, "mlp_only_layers is [3]: want a list of whole numbers from 0 to 2"},
		{"qwen3", "decoder_sparse_step", 0, "decoder_sparse_step is 0: want a whole number from 1 to 4096"},
		{"qwen3", "decoder_sparse_step", 4, ""},
		{"qwen3", "mlp_only_layers", []int{0, 1, 2}, ""},
		{"qwen3", "shared_expert_intermediate_size", 32, "shared_expert_intermediate_size is 32: want 0"},
		{"qwen3", "shared_expert_intermediate_size", 0.0, ""},
		{"qwen3", "use_qk_norm", true, ""},
		{"qwen3", "use_qk_norm", false, "use_qk_norm is false: want true"},
		{"qwen3", "rope_scaling", yarn(nil), ""},
		{"qwen3", "rope_scaling", yarn(map[string]any{"truncate": 1}), "rope_scaling.truncate is 1: want true or false"},
		{"qwen3", "rope_scaling", yarn(map[string]any{"attention_factor": 0}), "rope_scaling.attention_factor is 0: want a number above 0"},
		{"qwen3", "rope_scaling", yarn(map[string]any{"extrapolation_factor": 1}), "rope_scaling.extrapolation_factor is 1: the family does not know this setting"},
		{"qwen3", "rope_scaling", yarn(map[string]any{"mscale": 1}), ""},
		{"qwen3", "rope_scaling", yarn(map[string]any{"mscale": 0.7}), "rope_scaling.mscale_all_dim is not there: want a number above 0, as there is an mscale"},
		{"qwen3", "rope_scaling", yarn(map[string]any{"mscale_all_dim": 0.7}), "rope_scaling.mscale is not there: want a number above 0, as there is an mscale_all_dim"},
		{"qwen3", "rope_scaling", yarn(map[string]any{"original_max_position_embeddings": 1}), "rope_scaling.original_max_position_embeddings is 1: want positions within which some pair turns"},
		{"qwen3", "rope_scaling", yarn(map[string]any{"original_max_position_embeddings": nil}), ""}, // max_position_embeddings
		{"qwen3", "rope_scaling", yarn(map[string]any{"beta_slow": 1000}), "rope_scaling.original_max_position_embeddings is 4096: want positions"},

		{"lfm2", "conv_bias", true, "conv_bias is true: want false"},
		{"lfm2", "conv_L_cache", 1, "conv_L_cache is 1: want"},
		{"lfm2", "conv_L_cache", nil, "conv_L_cache is not there: want a whole number from 2 to 64"},
		{"lfm2", "layer_types", nil, "layer_types is not there: want conv or full_attention for each of 4 layers"},
		{"lfm2", "layer_types", []string{"conv"}, `layer_types is ["conv"]: want conv or full_attention for each of 4 layers`},
		{"lfm2", "layer_types", []string{"conv", "conv", "sliding_attention", "conv"}, `layer_types is ["conv","conv","sliding_attention","conv"]: want conv or full_attention`},
		{"lfm2", "num_dense_layers", 4, ""},
		{"lfm2", "attention_bias", true, "attention_bias is true"},

		{"deepseek", "attention_bias", true, "attention_bias is true"},
		{"deepseek", "scoring_func", "sigmoid", `scoring_func is "sigmoid": want "softmax"`},
		{"deepseek", "topk_method", "noaux_tc", `topk_method is "noaux_tc": want greedy or group_limited_greedy`},
		{"deepseek", "topk_method", "group_limited_greedy", ""}, // of one group
		{"deepseek", "n_group", 3, ""},                          // greedy reads none
		{"deepseek", "q_lora_rank", 0, ""},
		{"deepseek", "q_lora_rank", -1, "q_lora_rank is -1: want a whole number from"},
		{"deepseek", "n_shared_experts", nil, ""},
		{"deepseek", "kv_lora_rank", nil, "kv_lora_rank is not there: want a whole number from 1 to 65536"},
		{"deepseek", "qk_rope_head_dim", 15, "qk_rope_head_dim is 15: want an even number"},
		{"deepseek", "v_head_dim", 1 << 20, "v_head_dim is 1048576: want a whole number from 1 to 4096"},
		{"deepseek", "head_dim", 32, "head_dim is 32: want 16"},
		{"deepseek", "qk_head_dim", 32, ""},
		{"deepseek", "num_key_value_heads", 2, "num_key_value_heads is 2: want "},
		{"deepseek", "moe_layer_freq", 2, ""},
		{"deepseek", "ep_size", 4, ""},
		{"deepseek", "first_k_dense_replace", 3, ""},
		{"deepseek", "rope_interleave", false, "rope_interleave is false"},
	} {
		_, err := build(config(t, filepath.Join("../../testdata", c.family, "config.json"), map[string]any{c.key: c.value}))
		if c.want == "" {
			require.NoError(t, err, "%s: %s = %v", c.family, c.key, c.value)
			continue
		}
		require.ErrorContains(t, err, c.want, "%s: %s = %v", c.family, c.key, c.value)
	}
}

// Settings that are refused for what others are.
func TestSettingsTogether(t *testing.T) {
	for _, c := range []struct {
		family string
		edits  map[string]any
		want   string
	}{
		{"deepseek", map[string]any{"topk_method": "group_limited_greedy", "n_group": 3}, "n_group is 3: want a divisor of the number of experts, 8"},
		{"deepseek", map[string]any{"topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 5}, "topk_group is 5: want a whole number from 1 to 4"},
		{"deepseek", map[string]any{"topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 1}, "topk_group is 1: want groups of at least num_experts_per_tok 3 experts"},
		{"deepseek", map[string]any{"topk_method": "group_limited_greedy", "n_group": nil}, "n_group is not there: want a whole number from 1 to 8"},
		{"qwen3", map[string]any{"use_sliding_window": true, "sliding_window": 8}, "max_window_layers is 3: want 0"},
	} {
		_, err := build(config(t, filepath.Join("../../testdata", c.family, "config.json"), c.edits))
		require.ErrorContains(t, err, c.want, "%s: %v", c.family, c.edits)
	}
}
