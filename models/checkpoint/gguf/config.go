package gguf

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"estream/models/checkpoint"
)

// maxList bounds the arrays of metadata that config.json takes: a value for each layer.
const maxList = 1 << 12

// config is config.json as it is made from metadata, whose keys begin with the architecture's name.
type config struct {
	*model
	arch   string
	values map[string]any
	used   map[string]bool   // keys of metadata, without the name
	from   map[string]string // by the key of config.json: the keys of metadata that the value is made of, without the name
	notes  []string
}

// keys are those of any architecture, what config.json calls them, and whether a model must have them.
var keys = []struct {
	key, hub string
	must     bool
}{
	{"block_count", "num_hidden_layers", true},
	{"embedding_length", "hidden_size", true},
	{"attention.head_count", "num_attention_heads", true},
	{"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
	{"attention.head_count_kv", "num_key_value_heads", false},
	{"attention.clamp_kqv", "clip_qkv", false},
	{"attention.sliding_window", "sliding_window", false},
	{"attention.q_lora_rank", "q_lora_rank", false},
	{"attention.kv_lora_rank", "kv_lora_rank", false},
	{"context_length", "max_position_embeddings", false},
	{"feed_forward_length", "intermediate_size", false},
	{"expert_feed_forward_length", "moe_intermediate_size", false},
	{"expert_count", "num_experts", false},
	{"expert_used_count", "num_experts_per_tok", false},
	{"expert_shared_count", "n_shared_experts", false},
	{"expert_group_count", "n_group", false},
	{"expert_group_used_count", "topk_group", false},
	{"expert_weights_norm", "norm_topk_prob", false},
	{"expert_weights_scale", "routed_scaling_factor", false},
	{"leading_dense_block_count", "first_k_dense_replace", false},
	{"rope.freq_base", "rope_theta", false},
	{"shortconv.l_cache", "conv_L_cache", false},
	{"vocab_size", "vocab_size", false},
}

// zeroIsNone are keys whose 0 asks for what their absence does, as that nothing is clamped.
var zeroIsNone = []string{"attention.clamp_kqv", "expert_weights_scale", "rope.scaling.factor", "rope.scaling.original_context_length"}

// Config implements checkpoint.Checkpoint: it makes config.json.
func (m *model) Config() ([]byte, error) {
	c, err := m.config()
	if err != nil {
		return nil, err
	}
	return json.Marshal(c.values)
}

// Notes implements checkpoint.Noter: what the file holds, and what config.json says that it does not.
func (m *model) Notes() []string {
	var types []string
	for _, n := range checkpoint.Census(m) {
		types = append(types, fmt.Sprintf("%s of %d tensors", n.DType, n.Tensors))
	}
	notes := []string{"GGUF types: " + strings.Join(types, ", ")}
	if c, err := m.config(); err == nil {
		notes = append(notes, c.notes...)
	}
	return notes
}

func (m *model) config() (*config, error) {
	meta := m.files[0].meta
	c := &config{model: m, arch: meta.text("general.architecture"), values: map[string]any{}, used: map[string]bool{}, from: map[string]string{}}
	if kind := meta.text("general.type"); kind != "" && kind != "model" {
		return nil, fmt.Errorf("%s: holds general.type %.80q, want a model", m.files[0].path, kind)
	}
	if c.arch == "" {
		return nil, fmt.Errorf("%s: metadata general.architecture is not there", m.files[0].path)
	}
	for _, n := range keys {
		v, ok := c.take(n.key)
		if ok {
			c.values[n.hub], c.from[n.hub] = v, n.key
		} else if n.must {
			return nil, fmt.Errorf("%s: metadata %.80s.%s is not there", m.files[0].path, c.arch, n.key)
		}
	}
	c.vocabulary()
	c.heads()
	c.scaling()
	c.architecture()
	c.rest()
	return c, nil
}

// Spelling implements checkpoint.Speller.
func (m *model) Spelling() func(key string) string {
	c, err := m.config()
	if err != nil {
		return func(key string) string { return "metadata " + key }
	}
	return c.spell
}

func (c *config) spell(key string) string {
	if strings.HasPrefix(key, c.arch+".") {
		return "metadata " + key
	}
	from := c.from[key]
	for _, n := range keys {
		if from == "" && n.hub == key {
			from = n.key
		}
	}
	if from == "" {
		return "metadata made into config.json: " + key
	}
	return fmt.Sprintf("metadata %.80s.%s (%s)", c.arch, from, key)
}

// take returns the value of a key as config.json has values.
func (c *config) take(key string) (any, bool) {
	v, ok := c.files[0].meta[c.arch+"."+key]
	if !ok {
		return nil, false
	}
	c.used[key] = true
	value := jsonOf(v)
	return value, !isZero(value) || !slices.Contains(zeroIsNone, key)
}

// number is take for a whole number; 0 if there is none.
func (c *config) number(key string) int64 {
	n, ok := c.files[0].meta.whole(c.arch + "." + key)
	c.used[key] = c.used[key] || ok
	return n
}

// assume sets what metadata cannot say, unless it is set.
func (c *config) assume(hub string, v any) {
	if _, set := c.values[hub]; !set {
		c.values[hub] = v
		c.notes = append(c.notes, fmt.Sprintf("the checkpoint does not say %s: %v is taken", hub, v))
	}
}

// rename gives a value the name that the architecture's config.json has for it.
func (c *config) rename(from, to string) {
	if v, ok := c.values[from]; ok {
		delete(c.values, from)
		c.values[to], c.from[to] = v, c.from[from]
	}
}

func (c *config) has(tensor string) bool { _, ok := c.at[tensor]; return ok }

// vocabulary sets what concerns tokens.
func (c *config) vocabulary() {
	meta := c.files[0].meta
	if tokens := meta.texts("tokenizer.ggml.tokens"); c.values["vocab_size"] == nil && tokens != nil {
		c.values["vocab_size"] = len(tokens)
	}
	for _, id := range []string{"bos_token_id", "eos_token_id"} {
		if n, ok := meta.whole("tokenizer.ggml." + id); ok {
			c.values[id] = n
		}
	}
	c.values["tie_word_embeddings"] = !c.has("output.weight")
}

// heads sets head_dim, which keys, values and rotation share but in DeepSeek.
func (c *config) heads() {
	if c.arch == "deepseek2" {
		return
	}
	key := c.number("attention.key_length")
	if key > 0 {
		c.values["head_dim"], c.from["head_dim"] = key, "attention.key_length"
	} else if hidden, heads := c.number("embedding_length"), c.number("attention.head_count"); heads > 0 {
		key = hidden / heads
	}
	for _, same := range []string{"attention.value_length", "rope.dimension_count"} {
		c.used[same] = c.number(same) == key
	}
}

// scaling sets rope_scaling. A factor stretches linearly unless a type is stated; what else is there without a type is
// refused by whoever reads config.json.
func (c *config) scaling() {
	scaling := map[string]any{}
	for _, n := range []struct{ key, hub string }{
		{"type", "rope_type"}, {"factor", "factor"}, {"original_context_length", "original_max_position_embeddings"},
		{"yarn_beta_fast", "beta_fast"}, {"yarn_beta_slow", "beta_slow"}, {"yarn_attn_factor", "attention_factor"},
	} {
		c.from["rope_scaling."+n.hub] = "rope.scaling." + n.key
		if v, ok := c.take("rope.scaling." + n.key); ok {
			scaling[n.hub] = v
		}
	}
	if scaling["rope_type"] == nil && scaling["factor"] != nil {
		scaling["rope_type"] = "linear"
	}
	c.used["rope.scaling.finetuned"] = true // says how the model was made
	if v, ok := c.files[0].meta[c.arch+".rope.scaling.yarn_log_multiplier"].(float32); ok {
		c.used["rope.scaling.yarn_log_multiplier"] = true // a tenth of mscale_all_dim; mscale is the same
		all := decimal(10*float64(v), 6, 64)
		scaling["mscale"], scaling["mscale_all_dim"] = all, all
		c.from["rope_scaling.mscale"], c.from["rope_scaling.mscale_all_dim"] = "rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_log_multiplier"
	}
	if len(scaling) > 0 && scaling["rope_type"] != "none" {
		c.values["rope_scaling"] = scaling
	}
	if _, stated := c.values["rope_theta"]; !stated {
		c.assume("rope_theta", 10000)
	}
}

// rest sets what has no name in config.json under its own, but for what asks for nothing.
func (c *config) rest() {
	for key, v := range c.files[0].meta {
		short, ok := strings.CutPrefix(key, c.arch+".")
		if !ok || c.used[short] {
			continue
		}
		if n, whole := c.files[0].meta.whole(key); short == "nextn_predict_layers" && whole && n == 0 || short == "attention.causal" && v == true {
			continue
		}
		c.values[key] = jsonOf(v)
	}
}

// isZero reports whether a value of config.json is the number 0.
func isZero(v any) bool { return slices.Contains([]string{"0", "-0"}, fmt.Sprint(v)) }

// jsonOf returns a value as JSON has it: arrays of one value as that value, too long ones as their length in words.
func jsonOf(v any) any {
	switch v := v.(type) {
	case float32:
		return decimal(float64(v), -1, 32)
	case float64:
		return decimal(v, -1, 64)
	case []string:
		if len(v) > maxList {
			return fmt.Sprintf("an array of %d", len(v))
		}
	case numbers:
		if v.len() > maxList {
			return fmt.Sprintf("an array of %d", v.len())
		}
		list := make([]any, v.len())
		for i := range list {
			list[i] = jsonOf(v.at(i))
		}
		if len(list) > 0 && !slices.ContainsFunc(list, func(x any) bool { return x != list[0] }) {
			return list[0]
		}
		return list
	}
	return v
}

// decimal returns v in so many digits; of -1, the shortest number that is v in so many bits. JSON has none for NaN and
// infinities.
func decimal(v float64, digits, bits int) any {
	text := strconv.FormatFloat(v, 'g', digits, bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return text
	}
	return json.Number(text)
}
