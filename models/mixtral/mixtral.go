// Package mixtral lowers Mixtral (Jiang et al. 2024): few large experts, whose
// weights are a softmax over the logits of those that are chosen.
package mixtral

import (
	"estream/ir"
	"estream/models"
)

// Family is the Mixtral architecture.
var Family = models.Family{
	Name:          "mixtral",
	Doc:           "renormalized top-k, sliding_window, head_dim; no other way to weigh experts",
	Architectures: []string{"MixtralForCausalLM"},
	Weights: models.LlamaWeights.With(models.Weights{
		"attn.q.weight":     models.At("Q,H", "model.layers.{l}.self_attn.q_proj.weight").Or(models.Source{Name: "blk.{l}.attn_q.weight", Interleaved: true}),
		"attn.k.weight":     models.At("K,H", "model.layers.{l}.self_attn.k_proj.weight").Or(models.Source{Name: "blk.{l}.attn_k.weight", Interleaved: true}),
		"ffn.router.weight": models.At("E,H", "model.layers.{l}.block_sparse_moe.gate.weight", "blk.{l}.ffn_gate_inp.weight"),
	}).With(models.ExpertWeights("F", "model.layers.{l}.block_sparse_moe.experts", "w1", "w3", "w2")),
	Layer:   layer,
	Ignored: []string{"router_jitter_noise"},
}

func layer(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	h := b.RMSNorm(x, "attn.norm", c.RMSNormEps)
	q := models.Heads(b, c, b.Linear(h, "attn.q"))
	k := models.Heads(b, c, b.Linear(h, "attn.k"))
	v := models.Heads(b, c, b.Linear(h, "attn.v"))
	a, next := models.Attend(b, c, q, k, v, s, state, c.Int("sliding_window", 0))
	x = b.Add(x, b.Linear(a, "attn.o"))

	h = b.RMSNorm(x, "ffn.norm", c.RMSNormEps)
	logits := b.Linear(h, "ffn.router")
	ids := b.TopK(logits, c.NumExpertsPerTok)
	weights := b.Softmax(b.Gather(logits, ids))
	return b.Add(x, b.Experts(h, ids, weights, models.SwiGLU)), next
}
