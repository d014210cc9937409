package gguf

import (
	"cmp"
	"slices"
	"strings"

	"estream/models/checkpoint"
)

// architectures is Format.Architectures. Of llama they are those with experts, of deepseek2 those that choose by softmax.
func architectures() map[string]string {
	return map[string]string{
		"olmoe": "OlmoeForCausalLM", "qwen3moe": "Qwen3MoeForCausalLM", "llama": "MixtralForCausalLM",
		"lfm2moe": "Lfm2MoeForCausalLM", "deepseek2": "DeepseekV2ForCausalLM",
	}
}

// architecture sets what config.json of an architecture says in its own way, and what all files of it mean. Another
// architecture keeps its name: a family of a plug-in may serve it by that.
func (c *config) architecture() {
	hub, gating := cmp.Or(architectures()[c.arch], c.arch), int64(softmax)
	switch c.arch {
	case "qwen3moe":
		c.assume("norm_topk_prob", true)
	case "llama":
		if c.number("expert_count") == 0 {
			hub = "LlamaForCausalLM"
		}
		c.rename("num_experts", "num_local_experts")
	case "lfm2moe":
		gating = sigmoid
		c.lfm2()
	case "deepseek2":
		c.deepseek2()
		return
	}
	c.values["architectures"] = []string{hub}
	if g := c.number("expert_gating_func"); g != 0 && g != gating {
		c.used["expert_gating_func"] = false
	}
}

// How a router's logits become weights, by ggml's numbers.
const (
	softmax = 1
	sigmoid = 2
)

// lfm2 tells convolutions from attention by the number of key heads: 0, or the same for all.
func (c *config) lfm2() {
	c.rename("first_k_dense_replace", "num_dense_layers")
	c.rename("rms_norm_eps", "norm_eps")
	if heads, ok := c.files[0].meta[c.arch+".attention.head_count_kv"].(numbers); ok && heads.len() <= maxList {
		types, kv := make([]string, heads.len()), any(nil)
		for i := range types {
			types[i] = "conv"
			if n := heads.at(i); n != any(int64(0)) && n != any(uint64(0)) {
				types[i] = "full_attention"
				if kv != nil && kv != n {
					return // the list stays, which is refused
				}
				kv = n
			}
		}
		c.values["layer_types"], c.values["num_key_value_heads"] = types, kv
		c.from["layer_types"] = c.from["num_key_value_heads"]
	}
	c.assume("norm_topk_prob", true)
	c.values["use_expert_bias"] = slices.ContainsFunc(c.tensors, func(t checkpoint.Tensor) bool { return strings.HasSuffix(t.Name, ".exp_probs_b.bias") })
	c.values["conv_bias"] = false
}

// deepseek2 splits the widths of heads. Files of before and after the latent matrix was taken apart differ in what the
// plain keys say; the former have no keys ending in _mla.
func (c *config) deepseek2() {
	key, value := c.number("attention.key_length"), c.number("attention.value_length")
	if k := c.number("attention.key_length_mla"); k > 0 {
		key, value = k, c.number("attention.value_length_mla")
	}
	rope := c.number("rope.dimension_count")
	c.values["qk_rope_head_dim"], c.values["qk_nope_head_dim"], c.values["v_head_dim"] = rope, key-rope, value
	c.from["qk_rope_head_dim"], c.from["qk_nope_head_dim"], c.from["v_head_dim"] = "rope.dimension_count", "attention.key_length", "attention.value_length"
	c.values["num_key_value_heads"] = c.values["num_attention_heads"]
	c.rename("num_experts", "n_routed_experts")
	if _, lora := c.values["q_lora_rank"]; !lora {
		c.values["q_lora_rank"] = nil
	}
	c.values["architectures"], c.values["scoring_func"] = []string{architectures()[c.arch]}, "softmax"
	if c.number("expert_gating_func") == sigmoid {
		c.values["architectures"], c.values["scoring_func"] = []string{"DeepseekV3ForCausalLM"}, "sigmoid"
	}
	if g := c.number("expert_gating_func"); g > sigmoid {
		c.used["expert_gating_func"] = false
	}
	c.values["topk_method"] = "greedy"
	if c.number("expert_group_count") > 1 {
		c.values["topk_method"] = "group_limited_greedy"
	}
}
