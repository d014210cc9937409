package gguf_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// opened writes and opens a file of metadata, with tensors of those names.
func opened(t testing.TB, pairs []pair, tensors ...string) checkpoint.Checkpoint {
	t.Helper()
	g := checkpointtest.GGUF{Pairs: pairs}
	for _, name := range tensors {
		g.Tensors = append(g.Tensors, checkpointtest.StoredF32(name, []int{1}, 1))
	}
	path := filepath.Join(t.TempDir(), "x.gguf")
	require.NoError(t, g.Write(path))
	return open(t, path)
}

// of puts an architecture's name before keys that begin with a dot.
func of(arch string, pairs ...pair) []pair {
	out := []pair{{"general.architecture", arch}}
	for _, p := range pairs {
		if key := p[0].(string); strings.HasPrefix(key, ".") {
			p[0] = arch + key
		}
		out = append(out, p)
	}
	return out
}

// base is what every model says.
func base(more ...pair) []pair {
	return append([]pair{
		{".block_count", uint32(4)}, {".embedding_length", uint32(64)}, {".attention.head_count", uint32(4)},
		{".attention.layer_norm_rms_epsilon", float32(1e-5)}, {".context_length", uint32(128)}, {".rope.freq_base", float32(1e6)},
	}, more...)
}

// What metadata says becomes config.json, and what it cannot say is noted.
func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name    string
		pairs   []pair
		tensors []string
		want    string
		notes   []string
	}{
		{"olmoe", of("olmoe", base(pair{".feed_forward_length", uint32(32)}, pair{".expert_count", uint32(8)}, pair{".expert_used_count", uint32(2)},
			pair{".attention.head_count_kv", uint32(4)}, pair{".attention.clamp_kqv", float32(8)}, pair{".expert_gating_func", uint32(1)},
			pair{"tokenizer.ggml.tokens", []string{"a", "b", "c"}}, pair{"tokenizer.ggml.eos_token_id", uint32(2)}, pair{"general.type", "model"})...),
			[]string{"output.weight"},
			`{"architectures":["OlmoeForCausalLM"],"clip_qkv":8,"eos_token_id":2,"hidden_size":64,"intermediate_size":32,"max_position_embeddings":128,"num_attention_heads":4,
			"num_experts":8,"num_experts_per_tok":2,"num_hidden_layers":4,"num_key_value_heads":4,"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":false,"vocab_size":3}`,
			[]string{"GGUF types: F32 of 1 tensors"}},
		{"qwen3moe", of("qwen3moe", base(pair{".attention.key_length", uint32(32)}, pair{".attention.value_length", uint32(32)}, pair{".expert_feed_forward_length", uint32(16)},
			pair{".rope.dimension_count", uint32(32)}, pair{".vocab_size", uint32(7)}, pair{".rope.scaling.type", "yarn"}, pair{".rope.scaling.factor", float32(4)},
			pair{".rope.scaling.original_context_length", uint32(32)}, pair{".nextn_predict_layers", uint32(0)})...), nil,
			`{"architectures":["Qwen3MoeForCausalLM"],"head_dim":32,"hidden_size":64,"max_position_embeddings":128,"moe_intermediate_size":16,"norm_topk_prob":true,"num_attention_heads":4,
			"num_hidden_layers":4,"rms_norm_eps":1e-05,"rope_scaling":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":32},"rope_theta":1e+06,"tie_word_embeddings":true,"vocab_size":7}`,
			[]string{"GGUF types: ", "the checkpoint does not say norm_topk_prob: true is taken"}},
		{"U19 qwen3moe that says so", of("qwen3moe", base(pair{".expert_weights_norm", false})...), nil,
			`{"architectures":["Qwen3MoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"norm_topk_prob":false,"num_attention_heads":4,
			"num_hidden_layers":4,"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"mixtral", of("llama", base(pair{".expert_count", uint32(8)}, pair{".rope.dimension_count", uint32(16)})...), nil,
			`{"architectures":["MixtralForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"num_local_experts":8,
			"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"llama without experts", of("llama", base()...), nil,
			`{"architectures":["LlamaForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"lfm2moe", of("lfm2moe", base(pair{".attention.head_count_kv", []int32{0, 2, 0, 2}}, pair{".shortconv.l_cache", uint32(3)}, pair{".leading_dense_block_count", uint32(2)},
			pair{".expert_gating_func", uint32(2)})...), []string{"blk.2.exp_probs_b.bias"},
			`{"architectures":["Lfm2MoeForCausalLM"],"conv_L_cache":3,"conv_bias":false,"hidden_size":64,"layer_types":["conv","full_attention","conv","full_attention"],
			"max_position_embeddings":128,"norm_eps":1e-05,"norm_topk_prob":true,"num_attention_heads":4,"num_dense_layers":2,"num_hidden_layers":4,"num_key_value_heads":2,"rope_theta":1e+06,
			"tie_word_embeddings":true,"use_expert_bias":true}`,
			[]string{"GGUF types: F32 of 1 tensors", "the checkpoint does not say norm_topk_prob: true is taken"}},
		{"deepseek2", of("deepseek2", base(pair{".attention.head_count_kv", uint32(1)}, pair{".attention.kv_lora_rank", uint32(512)}, pair{".attention.key_length", uint32(576)},
			pair{".attention.value_length", uint32(512)}, pair{".attention.key_length_mla", uint32(192)}, pair{".attention.value_length_mla", uint32(128)},
			pair{".rope.dimension_count", uint32(64)}, pair{".expert_count", uint32(64)}, pair{".expert_shared_count", uint32(2)}, pair{".leading_dense_block_count", uint32(1)},
			pair{".expert_weights_scale", float32(16)}, pair{".expert_group_count", uint32(8)}, pair{".expert_group_used_count", uint32(3)}, pair{".rope.scaling.type", "yarn"},
			pair{".rope.scaling.factor", float32(40)}, pair{".rope.scaling.original_context_length", uint32(4096)}, pair{".rope.scaling.yarn_log_multiplier", float32(0.0707)})...), nil,
			`{"architectures":["DeepseekV2ForCausalLM"],"first_k_dense_replace":1,"hidden_size":64,"kv_lora_rank":512,"max_position_embeddings":128,"n_group":8,"n_routed_experts":64,"n_shared_experts":2,
			"num_attention_heads":4,"num_hidden_layers":4,"num_key_value_heads":4,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"rms_norm_eps":1e-05,
			"rope_scaling":{"rope_type":"yarn","factor":40,"original_max_position_embeddings":4096,"mscale":0.707,"mscale_all_dim":0.707},"rope_theta":1e+06,"routed_scaling_factor":16,
			"scoring_func":"softmax","tie_word_embeddings":true,"topk_group":3,"topk_method":"group_limited_greedy","v_head_dim":128}`,
			[]string{"GGUF types: "}},
		{"deepseek2 before its latent matrix was taken apart", of("deepseek2", base(pair{".attention.key_length", uint32(192)}, pair{".attention.value_length", uint32(128)},
			pair{".attention.q_lora_rank", uint32(96)}, pair{".rope.dimension_count", uint32(64)}, pair{".expert_gating_func", uint32(2)})...), nil,
			`{"architectures":["DeepseekV3ForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"num_key_value_heads":4,"q_lora_rank":96,
			"qk_nope_head_dim":128,"qk_rope_head_dim":64,"rms_norm_eps":1e-05,"rope_theta":1e+06,"scoring_func":"sigmoid","tie_word_embeddings":true,"topk_method":"greedy","v_head_dim":128}`,
			[]string{"GGUF types: "}},
		{"deepseek2 that weighs in a way of its own", of("deepseek2", base(pair{".attention.key_length", uint32(192)}, pair{".attention.value_length", uint32(128)},
			pair{".rope.dimension_count", uint32(64)}, pair{".expert_gating_func", uint32(3)})...), nil,
			`{"architectures":["DeepseekV2ForCausalLM"],"deepseek2.expert_gating_func":3,"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,
			"num_key_value_heads":4,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"rms_norm_eps":1e-05,"rope_theta":1e+06,"scoring_func":"softmax",
			"tie_word_embeddings":true,"topk_method":"greedy","v_head_dim":128}`,
			[]string{"GGUF types: "}},
		{"what has no name stays", of("olmoe", base(pair{".attention.value_length", uint32(8)}, pair{".rope.dimension_count", uint32(8)}, pair{".expert_gating_func", uint32(2)},
			pair{".new_thing", uint32(3)}, pair{".list", []int32{1, 2}}, pair{".same", []int32{5, 5}}, pair{".long", make([]int32, 5000)})...), nil,
			`{"architectures":["OlmoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"olmoe.attention.value_length":8,
			"olmoe.expert_gating_func":2,"olmoe.list":[1,2],"olmoe.long":"an array of 5000","olmoe.new_thing":3,"olmoe.rope.dimension_count":8,"olmoe.same":5,"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"zeros that ask for nothing", of("olmoe", base(pair{".attention.clamp_kqv", float32(0)}, pair{".expert_weights_scale", float32(0)},
			pair{".rope.scaling.factor", float32(0)}, pair{".rope.scaling.original_context_length", uint32(0)})...), nil,
			`{"architectures":["OlmoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"numbers that JSON has not", of("olmoe", base(pair{".rope.scaling.factor", float32(math.Inf(1))}, pair{".rope.scaling.yarn_log_multiplier", float32(math.NaN())})...), nil,
			`{"architectures":["OlmoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,
			"rope_scaling":{"rope_type":"linear","factor":"+Inf","mscale":"NaN","mscale_all_dim":"NaN"},"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"a factor alone", of("olmoe", base(pair{".rope.scaling.factor", float32(4)})...), nil,
			`{"architectures":["OlmoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,
			"rope_scaling":{"rope_type":"linear","factor":4},"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"positions alone", of("olmoe", base(pair{".rope.scaling.original_context_length", uint32(64)})...), nil,
			`{"architectures":["OlmoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,
			"rope_scaling":{"original_max_position_embeddings":64},"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"a factor that is switched off", of("olmoe", base(pair{".rope.scaling.factor", float32(4)}, pair{".rope.scaling.type", "none"})...), nil,
			`{"architectures":["OlmoeForCausalLM"],"hidden_size":64,"max_position_embeddings":128,"num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,"rope_theta":1e+06,"tie_word_embeddings":true}`,
			[]string{"GGUF types: "}},
		{"an architecture of a plug-in", of("mine", append(base()[:5:5], pair{".thing", "x"})...), nil,
			`{"architectures":["mine"],"hidden_size":64,"max_position_embeddings":128,"mine.thing":"x","num_attention_heads":4,"num_hidden_layers":4,"rms_norm_eps":1e-05,"rope_theta":10000,"tie_word_embeddings":true}`,
			[]string{"GGUF types: ", "the checkpoint does not say rope_theta: 10000 is taken"}},
	} {
		ckpt := opened(t, c.pairs, c.tensors...)
		got, err := ckpt.Config()
		require.NoError(t, err, c.name)
		require.JSONEq(t, c.want, string(got), c.name)
		require.Equal(t, c.notes, ckpt.(checkpoint.Noter).Notes(), c.name)
	}
}

func TestConfigRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []pair
		want  string
	}{
		{"no architecture", nil, "x.gguf: metadata general.architecture is not there"},
		{"an adapter", of("llama", pair{"general.type", "adapter"}), `x.gguf: holds general.type "adapter", want a model`},
		{"no layers", of("olmoe", base()[1:]...), "x.gguf: metadata olmoe.block_count is not there"},
		{"a long architecture", []pair{{"general.architecture", strings.Repeat("a", 1<<20)}}, "x.gguf: metadata " + strings.Repeat("a", 80) + ".block_count is not there"},
		{"no norm", of("olmoe", base()[:3]...), "x.gguf: metadata olmoe.attention.layer_norm_rms_epsilon is not there"},
	} {
		_, err := opened(t, c.pairs).Config()
		require.Error(t, err, c.name)
		require.Equal(t, c.want, filepath.Base(err.Error()), c.name)
	}
}

// Errors name keys as the file does.
func TestSpelling(t *testing.T) {
	spell := opened(t, of("llama", base(pair{".expert_count", uint32(8)}, pair{".rope.scaling.factor", float32(4)})...)).(checkpoint.Speller).Spelling()
	for key, want := range map[string]string{
		"num_local_experts":   "metadata llama.expert_count (num_local_experts)",
		"num_experts_per_tok": "metadata llama.expert_used_count (num_experts_per_tok)",
		"rope_scaling.factor": "metadata llama.rope.scaling.factor (rope_scaling.factor)",
		"llama.new_thing":     "metadata llama.new_thing",
		"conv_bias":           "metadata made into config.json: conv_bias",
	} {
		require.Equal(t, want, spell(key))
	}
}
