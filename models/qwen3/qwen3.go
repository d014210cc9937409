// Package qwen3 lowers Qwen3's mixtures of experts (Yang et al. 2025): queries and
// keys normalized a head at a time, and some layers dense if config.json says so.
package qwen3

import (
	"slices"

	"estream/ir"
	"estream/models"
)

// Family is the Qwen3-MoE architecture.
var Family = models.Family{
	Name:          "qwen3",
	Doc:           "head_dim, norm_topk_prob, decoder_sparse_step, mlp_only_layers, sliding_window of all layers; not of some, no shared experts",
	Architectures: []string{"Qwen3MoeForCausalLM"},
	Weights: models.LlamaWeights.With(models.Weights{
		"attn.q_norm.weight": models.At("D", "model.layers.{l}.self_attn.q_norm.weight", "blk.{l}.attn_q_norm.weight"),
		"attn.k_norm.weight": models.At("D", "model.layers.{l}.self_attn.k_norm.weight", "blk.{l}.attn_k_norm.weight"),
		"ffn.router.weight":  models.At("E,H", "model.layers.{l}.mlp.gate.weight", "blk.{l}.ffn_gate_inp.weight"),
	}).
		With(models.GatedWeights("ffn.", "F", "model.layers.{l}.mlp", "gate_proj", "up_proj", "down_proj")).
		With(models.ExpertWeights("M", "model.layers.{l}.mlp.experts", "gate_proj", "up_proj", "down_proj")),
	Config: func(c *models.Config) {
		c.Only("use_qk_norm", true)
		c.Only("shared_expert_intermediate_size", 0)
	},
	Layer:   layer,
	Ignored: []string{"max_window_layers"}, // where there is no window
	Partly:  []string{"norm_topk_prob"},    // layers of experts read it
}

func layer(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	h := b.RMSNorm(x, "attn.norm", c.RMSNormEps)
	q := b.RMSNorm(models.Heads(b, c, b.Linear(h, "attn.q")), "attn.q_norm", c.RMSNormEps)
	k := b.RMSNorm(models.Heads(b, c, b.Linear(h, "attn.k")), "attn.k_norm", c.RMSNormEps)
	v := models.Heads(b, c, b.Linear(h, "attn.v"))
	a, next := models.Attend(b, c, q, k, v, s, state, window(c))
	x = b.Add(x, b.Linear(a, "attn.o"))

	h = b.RMSNorm(x, "ffn.norm", c.RMSNormEps)
	if dense(c, l) {
		return b.Add(x, models.Gated(b, h, "ffn.")), next
	}
	ids, weights := models.Choose(b, c, b.Softmax(b.Linear(h, "ffn.router")))
	return b.Add(x, b.Experts(h, ids, weights, models.SwiGLU)), next
}

// dense reports whether layer l has no experts.
func dense(c *models.Config, l int) bool {
	step := 1
	if c.Has("decoder_sparse_step") {
		step = max(1, c.Size("decoder_sparse_step", 1, 1<<12))
	}
	return (l+1)%step != 0 || c.Has("mlp_only_layers") && slices.Contains(c.Ints("mlp_only_layers", c.NumHiddenLayers-1), l)
}

// window returns how far attention sees. Implementations differ on whether the
// first max_window_layers layers see farther: none must.
func window(c *models.Config) int {
	if !c.Has("sliding_window") || !c.Has("use_sliding_window") {
		return 0
	}
	n := c.Int("sliding_window", 0)
	if !c.Bool("use_sliding_window", false) {
		return 0
	}
	c.Only("max_window_layers", 0)
	return n
}
