// Package lfm2 lowers LFM2's mixtures of experts (Liquid AI 2025): most layers mix
// tokens by a short gated convolution, the others by attention; the first layers
// are dense, and the others choose experts by a sigmoid and a bias.
package lfm2

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/models"
)

// Family is the LFM2-MoE architecture.
var Family = models.Family{
	Name:          "lfm2",
	Doc:           "conv and full_attention by layer_types, dense first layers, expert_bias that only selects, norm_topk_prob; not conv_bias",
	Architectures: []string{"Lfm2MoeForCausalLM"},
	Weights: models.LlamaWeights.With(models.Weights{
		"final.norm.weight":      models.At("H", "model.embedding_norm.weight", "token_embd_norm.weight", "output_norm.weight"),
		"attn.norm.weight":       models.At("H", "model.layers.{l}.operator_norm.weight", "blk.{l}.attn_norm.weight"),
		"attn.q_norm.weight":     models.At("D", "model.layers.{l}.self_attn.q_layernorm.weight", "blk.{l}.attn_q_norm.weight"),
		"attn.k_norm.weight":     models.At("D", "model.layers.{l}.self_attn.k_layernorm.weight", "blk.{l}.attn_k_norm.weight"),
		"attn.o.weight":          models.At("H,Q", "model.layers.{l}.self_attn.out_proj.weight", "blk.{l}.attn_output.weight"),
		"conv.in.weight":         models.At("3*H,H", "model.layers.{l}.conv.in_proj.weight", "blk.{l}.shortconv.in_proj.weight"),
		"conv.taps.weight":       models.At("H,1,conv_L_cache", "model.layers.{l}.conv.conv.weight", "blk.{l}.shortconv.conv.weight"),
		"conv.out.weight":        models.At("H,H", "model.layers.{l}.conv.out_proj.weight", "blk.{l}.shortconv.out_proj.weight"),
		"ffn.norm.weight":        models.At("H", "model.layers.{l}.ffn_norm.weight", "blk.{l}.ffn_norm.weight"),
		"ffn.router.weight":      models.At("E,H", "model.layers.{l}.feed_forward.gate.weight", "blk.{l}.ffn_gate_inp.weight"),
		"ffn.router_bias.weight": models.Buffer("E", "model.layers.{l}.feed_forward.expert_bias", "blk.{l}.exp_probs_b.bias"),
	}).
		With(models.GatedWeights("ffn.", "F", "model.layers.{l}.feed_forward", "w1", "w3", "w2")).
		With(models.ExpertWeights("M", "model.layers.{l}.feed_forward.experts", "w1", "w3", "w2")),
	Config: config,
	State:  state,
	Layer:  layer,

	Partly: []string{"norm_topk_prob", "routed_scaling_factor", "use_expert_bias"}, // layers of experts read them
}

func config(c *models.Config) {
	c.Extent("3*H", 3*c.HiddenSize)
	c.Extent("conv_L_cache", c.Size("conv_L_cache", 2, 64))
	c.Only("conv_bias", false)
	types := c.Strings("layer_types")
	other := func(t string) bool { return t != "conv" && t != "full_attention" }
	if len(types) != c.NumHiddenLayers || slices.ContainsFunc(types, other) {
		c.Refuse("layer_types", fmt.Sprintf("conv or full_attention for each of %d layers", c.NumHiddenLayers))
	}
}

func convolves(c *models.Config, l int) bool { return c.Strings("layer_types")[l] == "conv" }

func state(c *models.Config, l int) ir.Type {
	if !convolves(c, l) {
		return models.KV(c)
	}
	return ir.StateOf(ir.Window, ir.Tensor(ir.F32, ir.B, ir.N(c.Int("conv_L_cache", 0)-1), ir.N(c.HiddenSize)))
}

func layer(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	mix := attend
	if convolves(c, l) {
		mix = convolve
	}
	h, next := mix(b, c, b.RMSNorm(x, "attn.norm", c.RMSNormEps), s, state)
	x = b.Add(x, h)

	h = b.RMSNorm(x, "ffn.norm", c.RMSNormEps)
	if l < c.Int("num_dense_layers", 2) {
		return b.Add(x, models.Gated(b, h, "ffn.")), next
	}
	ids, weights := choose(b, c, b.Sigmoid(b.Linear(h, "ffn.router")))
	return b.Add(x, b.Experts(h, ids, weights, models.SwiGLU)), next
}

func attend(b *ir.Builder, c *models.Config, h *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	q := b.RMSNorm(models.Heads(b, c, b.Linear(h, "attn.q")), "attn.q_norm", c.RMSNormEps)
	k := b.RMSNorm(models.Heads(b, c, b.Linear(h, "attn.k")), "attn.k_norm", c.RMSNormEps)
	a, next := models.Attend(b, c, q, k, models.Heads(b, c, b.Linear(h, "attn.v")), s, state, 0)
	return b.Linear(a, "attn.o"), next
}

func convolve(b *ir.Builder, c *models.Config, h *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	n, in := c.HiddenSize, b.Linear(h, "conv.in")
	before, after, u := b.Slice(in, 0, n), b.Slice(in, n, 2*n), b.Slice(in, 2*n, 3*n)
	u, next = b.Conv(b.Mul(before, u), "conv.taps", state, s)
	return b.Linear(b.Mul(after, u), "conv.out"), next
}

// choose picks experts by score and bias, and weighs them by score alone.
func choose(b *ir.Builder, c *models.Config, scores *ir.Value) (ids, weights *ir.Value) {
	by := scores
	if c.Bool("use_expert_bias", true) {
		by = b.Add(scores, b.Weight("ffn.router_bias.weight"))
	}
	ids = b.TopK(by, c.NumExpertsPerTok)
	weights = b.Gather(scores, ids)
	if c.Bool("norm_topk_prob", true) {
		weights = b.Div(weights, b.Affine(b.Sum(weights), 1, 1e-6))
	}
	return ids, b.Affine(weights, c.Float("routed_scaling_factor", 1), 0)
}
