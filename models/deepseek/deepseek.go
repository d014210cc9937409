// Package deepseek lowers DeepSeek-V2 (DeepSeek-AI 2024): keys and values of all
// heads come from one low-rank latent, the first layers are dense, some experts
// are taken by every token, and the others may be chosen within groups.
//
// The latent is expanded to keys and values, which are what a layer's state holds:
// over a whole prompt that is 3.4 times less arithmetic than attention over
// latents, and a layer's state lives only while the layer runs.
package deepseek

import (
	"estream/ir"
	"estream/models"
)

// Family is the DeepSeek-V2 architecture.
var Family = models.Family{
	Name:          "deepseek",
	Doc:           "latent attention with or without q_lora, yarn, dense first layers, shared experts, greedy and group_limited_greedy; not V3 (sigmoid scores, noaux_tc)",
	Architectures: []string{"DeepseekV2ForCausalLM"},
	Weights: models.LlamaWeights.Without("attn.k.weight", "attn.v.weight").With(models.Weights{
		"attn.q.weight":         models.At("heads*qk_head_dim,H", "model.layers.{l}.self_attn.q_proj.weight", "blk.{l}.attn_q.weight"),
		"attn.q_a.weight":       models.At("q_lora_rank,H", "model.layers.{l}.self_attn.q_a_proj.weight", "blk.{l}.attn_q_a.weight"),
		"attn.q_a_norm.weight":  models.At("q_lora_rank", "model.layers.{l}.self_attn.q_a_layernorm.weight", "blk.{l}.attn_q_a_norm.weight"),
		"attn.q_b.weight":       models.At("heads*qk_head_dim,q_lora_rank", "model.layers.{l}.self_attn.q_b_proj.weight", "blk.{l}.attn_q_b.weight"),
		"attn.kv_a.weight":      models.At("kv_lora_rank+qk_rope_head_dim,H", "model.layers.{l}.self_attn.kv_a_proj_with_mqa.weight", "blk.{l}.attn_kv_a_mqa.weight"),
		"attn.kv_a_norm.weight": models.At("kv_lora_rank", "model.layers.{l}.self_attn.kv_a_layernorm.weight", "blk.{l}.attn_kv_a_norm.weight"),
		"attn.kv_b.weight":      models.At("heads*(qk_nope_head_dim+v_head_dim),kv_lora_rank", "model.layers.{l}.self_attn.kv_b_proj.weight", "blk.{l}.attn_kv_b.weight"),
		"attn.o.weight":         models.At("H,heads*v_head_dim", "model.layers.{l}.self_attn.o_proj.weight", "blk.{l}.attn_output.weight"),
		"ffn.router.weight":     models.At("E,H", "model.layers.{l}.mlp.gate.weight", "blk.{l}.ffn_gate_inp.weight"),
	}).
		With(models.GatedWeights("ffn.", "F", "model.layers.{l}.mlp", "gate_proj", "up_proj", "down_proj")).
		With(models.GatedWeights("shared.", "n_shared_experts*moe_intermediate_size", "model.layers.{l}.mlp.shared_experts", "gate_proj", "up_proj", "down_proj")).
		With(models.ExpertWeights("M", "model.layers.{l}.mlp.experts", "gate_proj", "up_proj", "down_proj")),
	Config:  config,
	State:   state,
	Layer:   layer,
	Ignored: []string{"aux_loss_alpha", "ep_size", "seq_aux"},
	Partly:  []string{"n_group", "topk_group", "norm_topk_prob", "routed_scaling_factor"}, // topk_method, or layers of experts, read them
}

func layer(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	a, next := attend(b, c, b.RMSNorm(x, "attn.norm", c.RMSNormEps), s, state)
	x = b.Add(x, b.Linear(a, "attn.o"))

	h := b.RMSNorm(x, "ffn.norm", c.RMSNormEps)
	if l < c.Int("first_k_dense_replace", 0) || l%max(1, optional(c, "moe_layer_freq", 1<<12)) != 0 {
		return b.Add(x, models.Gated(b, h, "ffn.")), next
	}
	ids, weights := choose(b, c, b.Softmax(b.Linear(h, "ffn.router")))
	y = b.Experts(h, ids, weights, models.SwiGLU)
	if optional(c, "n_shared_experts", 1<<10) > 0 {
		y = b.Add(y, models.Gated(b, h, "shared."))
	}
	return b.Add(x, y), next
}

// choose picks experts, and scales their weights after norm_topk_prob.
func choose(b *ir.Builder, c *models.Config, probs *ir.Value) (ids, weights *ir.Value) {
	if c.String("topk_method", "greedy") == "group_limited_greedy" {
		probs = limit(b, c, probs)
	}
	ids, weights = models.Choose(b, c, probs)
	return ids, b.Affine(weights, c.Float("routed_scaling_factor", 1), 0)
}

// limit leaves the topk_group groups of experts whose best are most probable, and
// sets the probabilities of the others to 0.
func limit(b *ir.Builder, c *models.Config, probs *ir.Value) *ir.Value {
	groups := c.Int("n_group", 0)
	in := b.Reshape(probs, ir.T, ir.N(groups), ir.N(c.NumExperts/groups))
	best := b.Reshape(b.Gather(in, b.TopK(in, 1)), ir.T, ir.N(groups))
	kept := b.OneHot(b.TopK(best, c.Int("topk_group", 0)), groups)
	return b.Reshape(b.Mul(in, b.Reshape(kept, ir.T, ir.N(groups), ir.N(1))), ir.T, ir.N(c.NumExperts))
}
