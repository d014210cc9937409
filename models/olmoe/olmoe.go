// Package olmoe lowers OLMoE (Muennighoff et al. 2024): small experts chosen
// after a softmax over all of them, and queries and keys normalized over the
// whole projection, before they are split into heads.
package olmoe

import (
	"math"

	"estream/ir"
	"estream/models"
)

// Family is the OLMoE architecture.
var Family = models.Family{
	Name:          "olmoe",
	Doc:           "clip_qkv, fewer key heads, norm_topk_prob; not attention_bias",
	Architectures: []string{"OlmoeForCausalLM"},
	Weights: models.LlamaWeights.With(models.Weights{
		"attn.q_norm.weight": models.At("Q", "model.layers.{l}.self_attn.q_norm.weight", "blk.{l}.attn_q_norm.weight"),
		"attn.k_norm.weight": models.At("K", "model.layers.{l}.self_attn.k_norm.weight", "blk.{l}.attn_k_norm.weight"),
		"ffn.router.weight":  models.At("E,H", "model.layers.{l}.mlp.gate.weight", "blk.{l}.ffn_gate_inp.weight"),
	}).With(models.ExpertWeights("F", "model.layers.{l}.mlp.experts", "gate_proj", "up_proj", "down_proj")),
	Layer: layer,
}

func layer(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	h := b.RMSNorm(x, "attn.norm", c.RMSNormEps)
	q := b.RMSNorm(b.Linear(h, "attn.q"), "attn.q_norm", c.RMSNormEps)
	k := b.RMSNorm(b.Linear(h, "attn.k"), "attn.k_norm", c.RMSNormEps)
	v := b.Linear(h, "attn.v")
	if clip := c.Float("clip_qkv", math.Inf(1)); !math.IsInf(clip, 1) {
		q, k, v = b.Clamp(q, clip), b.Clamp(k, clip), b.Clamp(v, clip)
	}
	a, next := models.Attend(b, c, models.Heads(b, c, q), models.Heads(b, c, k), models.Heads(b, c, v), s, state, 0)
	x = b.Add(x, b.Linear(a, "attn.o"))

	h = b.RMSNorm(x, "ffn.norm", c.RMSNormEps)
	ids, weights := models.Choose(b, c, b.Softmax(b.Linear(h, "ffn.router")))
	return b.Add(x, b.Experts(h, ids, weights, models.SwiGLU)), next
}
