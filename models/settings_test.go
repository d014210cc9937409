package models_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
)

// A setting that nothing reads is refused unless it asks for nothing or is known to change nothing.
func TestUnreadSettings(t *testing.T) {
	const end = ": the family does not know this setting, and ignoring it could change the model; remove what changes nothing"
	for _, c := range []struct {
		edits map[string]any
		want  string // empty: accepted
	}{
		{map[string]any{"attention_bias": false, "hidden_act": "silu", "rope_scaling": nil, "sliding_window": nil, "mlp_only_layers": []int{}, "quantization_config": map[string]any{}}, ""},
		{map[string]any{"torch_dtype": "bfloat16", "initializer_range": 0.02, "eos_token_id": 7, "transformers_version": "5.24.0"}, ""},
		{map[string]any{"rope_parameters": map[string]any{"rope_type": "default"}, "partial_rotary_factor": 1.0, "own_training_key": 3}, ""},
		{map[string]any{"mlp_bias": false, "use_sliding_window": false, "moe_intermediate_size": 4}, ""},
		{map[string]any{"rope_interleave": false, "own_flag": false}, "config.json: own_flag is false; config.json: rope_interleave is false" + end},
		{map[string]any{"rope_parameters": map[string]any{"mlp_bias": false, "truncate": false}}, "config.json: rope_scaling.truncate is false" + end},
		{map[string]any{"moe_intermediate_size": 2}, "config.json: moe_intermediate_size is 2: want 4"},
		{map[string]any{"attention_bias": true}, "config.json: attention_bias is true: want false"},
		{map[string]any{"hidden_act": "gelu", "sliding_window": 4096}, `config.json: hidden_act is "gelu": want "silu"; config.json: sliding_window is 4096` + end},
		{map[string]any{"partial_rotary_factor": 0.5}, "config.json: partial_rotary_factor is 0.5: want 1"},
		{map[string]any{"rope_scaling": map[string]any{"type": "linear", "factor": 2, "beta_fast": 32}}, `config.json: rope_scaling.beta_fast is 32` + end},
		{map[string]any{"layer_types": []string{"sliding_attention", "full_attention", "sliding_attention", "full_attention"}},
			`config.json: layer_types is ["sliding_attention","full_attention","sliding_attention"...` + end},
	} {
		f := toy()
		f.Ignored = []string{"own_training_key"}
		_, err := models.Build(f, readConfig(t, c.edits))
		if c.want == "" {
			require.NoError(t, err, c.edits)
			continue
		}
		require.EqualError(t, err, "models: family toy: "+c.want)
	}
}

func TestAccessors(t *testing.T) {
	edits := map[string]any{"i": 3, "f": 0.25, "b": true, "s": "greedy", "list": []string{"conv", "attn"}, "null": nil, "rope_scaling": map[string]any{"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "extra": 1}, "ints": []int{0, 3}}
	f := toy()
	f.Config = func(c *models.Config) {
		require.Equal(t, []any{3, 0.25, true, "greedy"}, []any{c.Int("i", 0), c.Float("f", 0), c.Bool("b", false), c.String("s", "")})
		require.Equal(t, []string{"conv", "attn"}, c.Strings("list"))
		require.Equal(t, []any{7, 7.5, true, "x"}, []any{c.Int("none", 7), c.Float("null", 7.5), c.Bool("null", true), c.String("none", "x")})
		require.Nil(t, c.Strings("none"))
		require.Equal(t, []any{3, []int{0, 3}, []int(nil)}, []any{c.Size("i", 1, 3), c.Ints("ints", 3), c.Ints("none", 3)})
		yarn := c.Object("rope_scaling")
		require.Equal(t, []any{40.0, "yarn", 32}, []any{yarn.Float("factor", 0), yarn.String("rope_type", ""), yarn.Int("beta_fast", 32)})
		require.Nil(t, c.Object("none"))
		require.Equal(t, 5, c.Object("none").Object("deeper").Int("x", 5), "settings that are not there read as defaults")
	}
	_, err := models.Build(f, readConfig(t, edits))
	require.ErrorContains(t, err, "config.json: rope_scaling.extra is 1: the family does not know")
}

func TestAccessorErrors(t *testing.T) {
	for _, c := range []struct {
		value any
		read  func(c *models.Config)
		want  string
	}{
		{-4, func(c *models.Config) { c.Int("key", 0) }, "key is -4: want a whole number from 0 to 2147483647"},
		{1 << 31, func(c *models.Config) { c.Int("key", 0) }, "key is 2147483648: want a whole number from 0 to 2147483647"},
		{-0.5, func(c *models.Config) { c.Float("key", 0) }, "key is -0.5: want a number from 0"},
		{1, func(c *models.Config) { c.Bool("key", false) }, "key is 1: want true or false"},
		{1, func(c *models.Config) { c.String("key", "") }, "key is 1: want a text"},
		{[]any{"a", 1}, func(c *models.Config) { c.Strings("key") }, `key is ["a",1]: want a list of texts`},
		{[]any{1, 4}, func(c *models.Config) { c.Ints("key", 3) }, "key is [1,4]: want a list of whole numbers from 0 to 3"},
		{2, func(c *models.Config) { c.Only("key", 3) }, "key is 2: want 3"},
		{"3", func(c *models.Config) { c.Only("key", 3) }, `key is "3": want 3`},
		{[]any{}, func(c *models.Config) { c.Only("key", true) }, "key is []: want true"},
		{"y", func(c *models.Config) { c.Only("key", "x") }, `key is "y": want "x"`},
		{0, func(c *models.Config) { c.Size("key", 1, 3) }, "key is 0: want a whole number from 1 to 3"},
		{nil, func(c *models.Config) { c.Size("key", 1, 3) }, "key is not there: want a whole number from 1 to 3"},
		{[]any{}, func(c *models.Config) { c.Object("key") }, "key is []: want an object"},
		{map[string]any{"in": "x"}, func(c *models.Config) { c.Object("key").Int("in", 0) }, `key.in is "x": want a whole number from 0 to 2147483647`},
		{"noaux_tc", func(c *models.Config) { c.Refuse("key", "greedy"); c.Refuse("key", "what is wanted second") }, `key is "noaux_tc": want greedy`},
		{absent, func(c *models.Config) { c.Refuse("key", "a number") }, "key is not there: want a number"},
	} {
		f := toy()
		f.Config = c.read
		_, err := models.Build(f, readConfig(t, map[string]any{"key": c.value}))
		require.EqualError(t, err, "models: family toy: config.json: "+c.want)
	}
}

// What all families share and one has no use for is refused too.
func TestUnusedSharedSettings(t *testing.T) {
	dense := models.Family{
		Name: "dense",
		Weights: models.Weights{
			"embed.weight": models.At("V,H", "embed"), "final.norm.weight": models.At("H", "norm"), "head.weight": models.At("V,H", "head"),
			"up.weight": models.At("M,H", "up"), "down.weight": models.At("H,M", "down"),
		},
		State: func(*models.Config, int) ir.Type { return ir.Type{} },
		Layer: func(b *ir.Builder, _ *models.Config, _ int, x *ir.Value, _ ir.Step, _ *ir.Value) (y, next *ir.Value) {
			return b.Linear(b.Linear(x, "up"), "down"), nil
		},
	}
	const end = ": the family does not know this setting, and ignoring it could change the model; remove what changes nothing"
	for _, c := range []struct {
		edits map[string]any
		want  string // empty: accepted
	}{
		{nil, ""},
		{map[string]any{"intermediate_size": 4, "num_key_value_heads": 2, "head_dim": nil}, ""},
		{map[string]any{"intermediate_size": 5}, "intermediate_size is 5: want 4"},
		{map[string]any{"num_key_value_heads": 1}, "num_key_value_heads is 1: want 2"},
		{map[string]any{"head_dim": 4}, "head_dim is 4" + end},
		{map[string]any{"num_experts": 4, "num_experts_per_tok": 1}, "num_experts is 4; config.json: num_experts_per_tok is 1" + end},
		{map[string]any{"num_local_experts": 4, "num_experts_per_tok": 1}, "num_experts_per_tok is 1; config.json: num_local_experts is 4" + end},
	} {
		edits := map[string]any{"moe_intermediate_size": 4, "intermediate_size": absent, "num_experts": absent, "num_experts_per_tok": absent, "num_key_value_heads": absent}
		maps.Copy(edits, c.edits)
		_, err := models.Build(dense, readConfig(t, edits))
		if c.want == "" {
			require.NoError(t, err, c.edits)
			continue
		}
		require.EqualError(t, err, "models: family dense: config.json: "+c.want)
	}
	dense.Config = func(c *models.Config) { c.Int("head_dim", 0) }
	dense.Ignored = []string{"intermediate_size"}
	_, err := models.Build(dense, readConfig(t, map[string]any{"head_dim": 4, "moe_intermediate_size": 4, "num_experts": absent, "num_experts_per_tok": absent, "num_key_value_heads": absent, "intermediate_size": 9}))
	require.NoError(t, err, "read by the family itself, and ignored by it")
}

func TestOddHeads(t *testing.T) {
	for _, c := range []struct {
		edits map[string]any
		want  string
	}{
		{map[string]any{"head_dim": 7}, "head_dim is 7: rotary embedding needs an even number"},
		{map[string]any{"hidden_size": 6}, "head_dim, which is hidden_size/num_attention_heads, is 3: rotary embedding needs an even number"},
	} {
		_, err := models.Build(toy(), readConfig(t, c.edits))
		require.EqualError(t, err, "models: family toy: config.json: "+c.want)
	}
}
