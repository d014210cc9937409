// Package phimoe lowers Phi-3.5's mixture of experts (Abdin et al. 2024): norms that
// subtract the mean, biases, and two experts a token that an operator of its own
// weighs.
package phimoe

import (
	"example.com/plugin/mixer"

	"estream/ir"
	"estream/models"
)

// Family is the PhiMoE architecture.
var Family = models.Family{
	Name:          "phimoe",
	Doc:           "biases of attention and of the head, one sliding window for all layers",
	Architectures: []string{"PhimoeForCausalLM", "PhiMoEForCausalLM"},
	Weights: models.LlamaWeights.With(models.Weights{
		"attn.norm.bias":    models.At("H", "model.layers.{l}.input_layernorm.bias"),
		"attn.q.bias":       models.At("Q", "model.layers.{l}.self_attn.q_proj.bias"),
		"attn.k.bias":       models.At("K", "model.layers.{l}.self_attn.k_proj.bias"),
		"attn.v.bias":       models.At("K", "model.layers.{l}.self_attn.v_proj.bias"),
		"attn.o.bias":       models.At("H", "model.layers.{l}.self_attn.o_proj.bias"),
		"ffn.norm.bias":     models.At("H", "model.layers.{l}.post_attention_layernorm.bias"),
		"ffn.router.weight": models.At("E,H", "model.layers.{l}.block_sparse_moe.gate.weight"),
		"final.norm.bias":   models.At("H", "model.norm.bias"),
		"head.bias":         models.At("V", "lm_head.bias"),
	}).With(models.ExpertWeights("F", "model.layers.{l}.block_sparse_moe.experts", "w1", "w3", "w2")),
	Config:  func(c *models.Config) { c.Only("num_experts_per_tok", 2) },
	Layer:   layer,
	Head:    head,
	Ignored: []string{"input_jitter_noise"}, // training only
}

func layer(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	bias := c.Bool("attention_bias", false)
	h := norm(b, c, x, "attn.norm")
	q := models.Heads(b, c, linear(b, h, "attn.q", bias))
	k := models.Heads(b, c, linear(b, h, "attn.k", bias))
	v := models.Heads(b, c, linear(b, h, "attn.v", bias))
	a, next := models.Attend(b, c, q, k, v, s, state, c.Int("sliding_window", 0))
	x = b.Add(x, linear(b, a, "attn.o", bias))

	h = norm(b, c, x, "ffn.norm")
	logits := b.Linear(h, "ffn.router")
	ids := b.TopK(logits, c.NumExpertsPerTok)
	weights := b.Op(mixer.Op, mixer.Attr{Jitter: c.Float("router_jitter_noise", 0.01)}, logits, ids)
	return b.Add(x, b.Experts(h, ids, weights, models.SwiGLU)), next
}

func head(b *ir.Builder, c *models.Config, x *ir.Value) *ir.Value {
	return linear(b, norm(b, c, x, "final.norm"), "head", c.Bool("lm_head_bias", false))
}

// norm is a layer norm: what RMSNorm makes of x less its mean, and a bias.
func norm(b *ir.Builder, c *models.Config, x *ir.Value, name string) *ir.Value {
	mean := b.Affine(b.Sum(x), 1/float64(c.HiddenSize), 0)
	scaled := b.Op(ir.RMSNorm, ir.EpsAttr{Eps: c.RMSNormEps}, b.Sub(x, mean), b.Weight(name+".weight"))
	return b.Named(name, b.Add(scaled, b.Weight(name+".bias")))
}

// linear is Builder.Linear, with a bias where the model has one.
func linear(b *ir.Builder, x *ir.Value, name string, bias bool) *ir.Value {
	y := b.Op(ir.MatMul, nil, x, b.Weight(name+".weight"))
	if bias {
		y = b.Add(y, b.Weight(name+".bias"))
	}
	return b.Named(name, y)
}
