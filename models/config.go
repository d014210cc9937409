package models

import (
	"errors"
	"fmt"
	"strings"
)

// A Config holds the hyperparameters that families share, named as in
// config.json. A family reads its other keys through Settings, and so too a
// width, head_dim or number of experts or heads that is no extent of its table:
// one that no extent names is refused as a key that nobody reads (M1).
type Config struct {
	*Settings

	Architectures         []string
	VocabSize             int
	HiddenSize            int
	IntermediateSize      int // 0 if absent, as the next
	MoEIntermediateSize   int
	NumHiddenLayers       int
	NumAttentionHeads     int
	NumKeyValueHeads      int // NumAttentionHeads if absent
	HeadDim               int // HiddenSize / NumAttentionHeads if absent
	NumExperts            int // 0 if absent
	NumExpertsPerTok      int // of all NumExperts; 0 without experts
	MaxPositionEmbeddings int // 0 if absent
	RMSNormEps            float64
	RopeTheta             float64
	TieWordEmbeddings     bool // if absent, what the checkpoint holds decides

	extents map[string]int
}

// maxExperts bounds the experts of all layers together.
const maxExperts = 1 << 18

// ReadConfig reads config.json in the spellings of transformers 4 and 5. It
// bounds every shared field; errors name the field and its value.
func ReadConfig(data []byte) (*Config, error) { return readConfig(data, nil) }

func readConfig(data []byte, spell func(key string) string) (*Config, error) {
	values, err := parseJSON(data)
	if err == nil {
		err = respell(values)
	}
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	c := &Config{Settings: newSettings(inConfig, values, new(error))}
	c.spell = spell
	c.Architectures = c.Strings("architectures")
	c.sizes()
	c.RMSNormEps = c.between(0, 1, "rms_norm_eps", "norm_eps")
	c.RopeTheta = c.between(1, 1e12, "rope_theta") // of 1, all pairs would turn alike
	c.TieWordEmbeddings = c.Bool("tie_word_embeddings", false)
	c.consistent()
	c.unreadShared()
	clear(c.absent) // what the fields' docs say of absent keys needs no note
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return c, nil
}

func (c *Config) sizes() {
	for _, f := range []struct {
		to       *int
		most     int
		required bool
		keys     []string
	}{
		{&c.VocabSize, 1 << 22, true, []string{"vocab_size"}},
		{&c.HiddenSize, 1 << 16, true, []string{"hidden_size"}},
		{&c.IntermediateSize, 1 << 20, false, []string{"intermediate_size"}},
		{&c.MoEIntermediateSize, 1 << 20, false, []string{"moe_intermediate_size"}},
		{&c.NumHiddenLayers, 1 << 12, true, []string{"num_hidden_layers"}},
		{&c.NumAttentionHeads, 1 << 12, true, []string{"num_attention_heads"}},
		{&c.NumKeyValueHeads, 1 << 12, false, []string{"num_key_value_heads"}},
		{&c.HeadDim, 1 << 12, false, []string{"head_dim"}},
		{&c.NumExperts, 1 << 12, false, expertKeys()},
		{&c.NumExpertsPerTok, 1 << 12, false, []string{"num_experts_per_tok"}},
		{&c.MaxPositionEmbeddings, 1 << 30, false, []string{"max_position_embeddings"}},
	} {
		*f.to = c.size(f.most, f.keys...)
		if f.required && *f.to == 0 {
			c.Refuse(f.keys[0], fmt.Sprintf("a whole number from 1 to %d", f.most))
		}
	}
}

// expertKeys are the names of NumExperts.
func expertKeys() []string { return []string{"num_experts", "num_local_experts", "n_routed_experts"} }

// rotates refuses heads that rotary embedding cannot split into pairs.
func (c *Config) rotates() {
	if c.HeadDim%2 == 0 || c.Err() != nil {
		return
	}
	from := ""
	if !c.Has("head_dim") {
		from = ", which is hidden_size/num_attention_heads,"
	}
	*c.err = fmt.Errorf("%s%s is %d: rotary embedding needs an even number", c.name("head_dim"), from, c.HeadDim)
}

// size returns the size that stands under one of keys, or 0 if none is there.
func (c *Config) size(most int, keys ...string) int {
	return oneOf(c, keys, func(key string) int { return c.intIn(key, 0, 1, most) })
}

// between returns a number above least that keys name.
func (c *Config) between(least, most float64, keys ...string) float64 {
	want := fmt.Sprintf("a number above %g, at most %g", least, most)
	f := oneOf(c, keys, func(key string) float64 {
		return c.floatIn(key, 0, want, func(f float64) bool { return f > least && f <= most })
	})
	if f == 0 {
		c.Refuse(keys[0], want)
	}
	return f
}

// oneOf reads a number that has several names; where two are there they must agree.
func oneOf[T int | float64](c *Config, keys []string, read func(key string) T) (n T) {
	from := ""
	for _, key := range keys {
		if !c.Has(key) {
			continue
		}
		v := read(key)
		if from != "" && v != n {
			c.Refuse(key, fmt.Sprintf("%v, as %s is", n, from))
		}
		n, from = v, key
	}
	return n
}

// consistent checks fields against each other and fills in those that are absent.
func (c *Config) consistent() {
	if c.Err() != nil {
		return
	}
	if c.NumKeyValueHeads == 0 {
		c.NumKeyValueHeads = c.NumAttentionHeads
	}
	if c.HeadDim == 0 {
		if c.HiddenSize%c.NumAttentionHeads != 0 {
			c.Refuse("num_attention_heads", fmt.Sprintf("a divisor of hidden_size %d, or a head_dim", c.HiddenSize))
		}
		c.HeadDim = c.HiddenSize / c.NumAttentionHeads
	}
	if c.NumAttentionHeads%c.NumKeyValueHeads != 0 {
		c.Refuse("num_key_value_heads", fmt.Sprintf("a divisor of num_attention_heads %d", c.NumAttentionHeads))
	}
	if c.NumExperts > 0 && c.NumExpertsPerTok == 0 || c.NumExpertsPerTok > c.NumExperts {
		c.Refuse("num_experts_per_tok", fmt.Sprintf("a whole number from 1 to the number of experts, %d", c.NumExperts))
	}
	if c.NumExperts*c.NumHiddenLayers > maxExperts {
		c.Refuse("num_hidden_layers", fmt.Sprintf("at most %d layers of %d experts", maxExperts/c.NumExperts, c.NumExperts))
	}
}

// Extent declares an extent of a family's own weights; 0 leaves those weights out. The shared ones are V
// (vocab_size), H (hidden_size), F (intermediate_size), M (moe_intermediate_size), E (num_experts),
// D (head_dim), Q and K (all heads' queries and keys), and 1.
func (c *Config) Extent(name string, n int) {
	if c.extents == nil {
		c.extents = map[string]int{}
	}
	c.extents[name] = n
}

// extent returns an extent by its name in a weight table, and the keys it comes from.
func (c *Config) extent(name string) (n int, keys string) {
	switch name {
	case "1":
		return 1, "1"
	case "V":
		return c.VocabSize, "vocab_size"
	case "H":
		return c.HiddenSize, "hidden_size"
	case "F":
		return c.IntermediateSize, "intermediate_size"
	case "M":
		return c.MoEIntermediateSize, "moe_intermediate_size"
	case "E":
		return c.NumExperts, "num_experts"
	case "D":
		return c.HeadDim, "head_dim"
	case "Q":
		return c.NumAttentionHeads * c.HeadDim, "num_attention_heads*head_dim"
	case "K":
		return c.NumKeyValueHeads * c.HeadDim, "num_key_value_heads*head_dim"
	}
	return c.extents[name], name
}

// errLeftOut is an extent of a family's own that is 0.
var errLeftOut = errors.New("left out")

// dims returns the extents of a weight as a checkpoint has it.
func (c *Config) dims(w Weight) ([]int, error) {
	var dims []int
	for _, name := range strings.Split(w.Extents, ",") {
		n, keys := c.extent(name)
		if _, own := c.extents[name]; own && n == 0 {
			return nil, errLeftOut
		}
		if n < 1 {
			return nil, fmt.Errorf("extent %s (%s) is %d", name, keys, n)
		}
		dims = append(dims, n)
	}
	return dims, nil
}

// shape returns the extents of a weight as the graphs have it; nil if it is left out.
func (c *Config) shape(w Weight) []int {
	dims, err := c.dims(w)
	if err != nil {
		return nil
	}
	var shape []int
	for i, name := range strings.Split(w.Extents, ",") {
		if name != "1" {
			shape = append(shape, dims[i])
		}
	}
	return shape
}

// keys words where the extents of a weight come from.
func (c *Config) keys(w Weight) string {
	var list []string
	for _, name := range strings.Split(w.Extents, ",") {
		_, keys := c.extent(name)
		list = append(list, keys)
	}
	return strings.Join(list, ", ")
}
