package deepseek

import (
	"math"
	"slices"

	"estream/ir"
	"estream/models"
)

// latentEps is of the norms within attention, whatever rms_norm_eps.
const latentEps = 1e-6

// A head is the widths of its parts: of queries and keys that are not rotated and
// that are, and of values.
type head struct{ nope, rope, value int }

func headOf(c *models.Config) head {
	return head{c.Int("qk_nope_head_dim", 0), c.Int("qk_rope_head_dim", 0), c.Int("v_head_dim", 0)}
}

// state is keys and values of all heads.
func state(c *models.Config, l int) ir.Type {
	d := headOf(c)
	part := func(width int) ir.Type { return ir.Tensor(ir.F32, ir.S, ir.N(c.NumAttentionHeads), ir.N(width)) }
	return ir.StateOf(ir.Grow, part(d.nope+d.rope), part(d.value))
}

func attend(b *ir.Builder, c *models.Config, h *ir.Value, s ir.Step, state *ir.Value) (a, next *ir.Value) {
	d, heads, rank, r := headOf(c), c.NumAttentionHeads, c.Int("kv_lora_rank", 0), models.Rotary(c, headOf(c).rope)
	r.Interleaved = true
	split := func(x *ir.Value, width int) *ir.Value { return b.Reshape(x, ir.T, ir.N(heads), ir.N(width)) }

	q := split(query(b, c, h), d.nope+d.rope)
	q = b.Concat(b.Slice(q, 0, d.nope), b.RoPE(b.Slice(q, d.nope, d.nope+d.rope), s, r))

	latent := b.Linear(h, "attn.kv_a")
	turned := b.RoPE(b.Reshape(b.Slice(latent, rank, rank+d.rope), ir.T, ir.N(1), ir.N(d.rope)), s, r)
	turned = split(b.Concat(slices.Repeat([]*ir.Value{turned}, heads)...), d.rope) // the same in all heads
	kv := split(b.Linear(b.RMSNorm(b.Slice(latent, 0, rank), "attn.kv_a_norm", latentEps), "attn.kv_b"), d.nope+d.value)

	next = b.Append(state, s, b.Concat(b.Slice(kv, 0, d.nope), turned), b.Slice(kv, d.nope, d.nope+d.value))
	a = b.Attention(q, next, s, scale(c, d), 0)
	return b.Reshape(a, ir.T, ir.N(heads*d.value)), next
}

// scale is what scores are multiplied by; stretched positions sharpen them.
func scale(c *models.Config, d head) float64 {
	m := 1.0
	if c.Has("rope_scaling") {
		rope := c.Object("rope_scaling")
		m = models.MScale(rope.Float("factor", 1), rope.Float("mscale_all_dim", 0))
	}
	return m * m / math.Sqrt(float64(d.nope+d.rope))
}

func query(b *ir.Builder, c *models.Config, h *ir.Value) *ir.Value {
	if optional(c, "q_lora_rank", 1<<16) == 0 {
		return b.Linear(h, "attn.q")
	}
	return b.Linear(b.RMSNorm(b.Linear(h, "attn.q_a"), "attn.q_a_norm", latentEps), "attn.q_b")
}
