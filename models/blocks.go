package models

import (
	"math"

	"estream/ir"
)

// A block lives here once two families use it unchanged. A block with a flag
// that only one family sets belongs in that family.

// Heads splits the last axis of x into heads of c.HeadDim: [T,N] to [T,N/D,D].
func Heads(b *ir.Builder, c *Config, x *ir.Value) *ir.Value {
	return b.Reshape(x, ir.T, ir.N(x.Type.Last().N/c.HeadDim), ir.N(c.HeadDim))
}

// Attend rotates q [T,H,D] and k, appends k and v [T,Hkv,D] to the state and
// attends over it: out is [T,H*D]. A token sees itself and window-1 before it; of
// a window of 0, all before it. An odd head_dim is refused.
func Attend(b *ir.Builder, c *Config, q, k, v *ir.Value, s ir.Step, state *ir.Value, window int) (out, next *ir.Value) {
	c.rotates()
	r := Rotary(c, c.HeadDim)
	q, k = b.RoPE(q, s, r), b.RoPE(k, s, r)
	next = b.Append(state, s, k, v)
	o := b.Attention(q, next, s, 1/math.Sqrt(float64(c.HeadDim)), window)
	return b.Reshape(o, ir.T, ir.N(c.NumAttentionHeads*c.HeadDim)), next
}

// Choose returns the num_experts_per_tok most probable experts of each token, and
// their probabilities, which norm_topk_prob brings to a sum of 1.
func Choose(b *ir.Builder, c *Config, probs *ir.Value) (ids, weights *ir.Value) {
	ids = b.TopK(probs, c.NumExpertsPerTok)
	weights = b.Gather(probs, ids)
	if c.Bool("norm_topk_prob", false) {
		weights = b.Div(weights, b.Sum(weights))
	}
	return ids, weights
}

// SwiGLU is the gated feed-forward of the Llama line (Shazeer 2020): an expert's body.
func SwiGLU(b *ir.Builder, x *ir.Value) *ir.Value { return Gated(b, x, "") }

// Gated is SwiGLU by weights whose names begin with prefix, as GatedWeights has them.
func Gated(b *ir.Builder, x *ir.Value, prefix string) *ir.Value {
	return b.Linear(b.Mul(b.SiLU(b.Linear(x, prefix+"gate")), b.Linear(x, prefix+"up")), prefix+"down")
}
