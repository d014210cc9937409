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
// attends over it: out is [T,H*D]. An odd head_dim is refused.
func Attend(b *ir.Builder, c *Config, q, k, v *ir.Value, s ir.Step, state *ir.Value) (out, next *ir.Value) {
	c.rotates()
	q, k = b.RoPE(q, s, c.RopeTheta, false), b.RoPE(k, s, c.RopeTheta, false)
	next = b.Append(state, s, k, v)
	o := b.Attention(q, next, s, 1/math.Sqrt(float64(c.HeadDim)), 0)
	return b.Reshape(o, ir.T, ir.N(c.NumAttentionHeads*c.HeadDim)), next
}

// SwiGLU is the gated feed-forward of the Llama line (Shazeer 2020): an expert's body.
func SwiGLU(b *ir.Builder, x *ir.Value) *ir.Value {
	return b.Linear(b.Mul(b.SiLU(b.Linear(x, "gate")), b.Linear(x, "up")), "down")
}
