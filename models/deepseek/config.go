package deepseek

import (
	"fmt"

	"estream/models"
)

func config(c *models.Config) {
	for _, key := range []string{"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"} {
		c.Size(key, 1, 1<<12)
	}
	d, heads, rank := headOf(c), c.NumAttentionHeads, c.Size("kv_lora_rank", 1, 1<<16)
	if d.rope%2 != 0 {
		c.Refuse("qk_rope_head_dim", "an even number")
	}
	c.Only("head_dim", d.rope)
	c.Only("qk_head_dim", d.nope+d.rope)
	c.Only("scoring_func", "softmax")
	c.Extent("q_lora_rank", optional(c, "q_lora_rank", 1<<16))
	c.Extent("heads*qk_head_dim", heads*(d.nope+d.rope))
	c.Extent("kv_lora_rank", rank)
	c.Extent("kv_lora_rank+qk_rope_head_dim", rank+d.rope)
	c.Extent("heads*(qk_nope_head_dim+v_head_dim)", heads*(d.nope+d.value))
	c.Extent("heads*v_head_dim", heads*d.value)
	c.Extent("n_shared_experts*moe_intermediate_size", optional(c, "n_shared_experts", 1<<10)*c.MoEIntermediateSize)
	optional(c, "moe_layer_freq", 1<<12)
	switch c.String("topk_method", "greedy") {
	case "greedy":
	case "group_limited_greedy":
		groups := max(1, c.Size("n_group", 1, c.NumExperts))
		if c.NumExperts%groups != 0 {
			c.Refuse("n_group", fmt.Sprintf("a divisor of the number of experts, %d", c.NumExperts))
		}
		if c.Size("topk_group", 1, groups)*(c.NumExperts/groups) < c.NumExpertsPerTok {
			c.Refuse("topk_group", fmt.Sprintf("groups of at least num_experts_per_tok %d experts", c.NumExpertsPerTok))
		}
	default:
		c.Refuse("topk_method", "greedy or group_limited_greedy")
	}
}

// optional is Size of a key that may be absent or 0: then it is 0.
func optional(c *models.Config, key string, most int) int {
	if !c.Has(key) || c.Int(key, 0) == 0 {
		return 0
	}
	return c.Size(key, 1, most)
}
