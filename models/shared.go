package models

import (
	"strconv"
	"strings"
)

// A shared key is one that ReadConfig reads for every family and that some have no
// use for. It counts as read where the extents of a family's weights use it, or the
// family reads it itself.
type shared struct {
	key     string
	extents string // names of extents that use it
	equal   int    // what asks for nothing, being used already; 0: nothing does
	by      string // the extent that uses it; empty: every family does
}

// shared lists the keys that a family may leave unused.
func (c *Config) shared() []shared {
	list := []shared{
		{"intermediate_size", "F", c.MoEIntermediateSize, "M"},
		{"moe_intermediate_size", "M", c.IntermediateSize, "F"},
		{"num_key_value_heads", "K", c.NumAttentionHeads, ""},
		{"head_dim", "DQK", 0, ""},
		{"num_experts_per_tok", "E", 0, ""},
	}
	for _, key := range expertKeys() {
		list = append(list, shared{key, "E", 0, ""})
	}
	return list
}

// unreadShared takes what ReadConfig read of the shared keys as unread.
func (c *Config) unreadShared() {
	for _, s := range c.shared() {
		delete(c.read, s.key)
	}
}

// use counts the shared keys as read that the weights use.
func (c *Config) use(w Weights) {
	names := map[string]bool{"": true}
	for name, weight := range w {
		for _, extent := range strings.Split(weight.Extents, ",") {
			names[extent] = true
		}
		names["E"] = names["E"] || strings.HasPrefix(name, "expert.")
	}
	for _, s := range c.shared() {
		for _, extent := range strings.Split(s.extents, "") {
			c.read[s.key] = c.read[s.key] || names[extent]
		}
		if s.equal == 0 || !names[s.by] {
			continue
		}
		c.only[s.key] = strconv.Itoa(s.equal)
		if v, ok := number(c.values[s.key]); ok && v == float64(s.equal) {
			c.read[s.key] = true
		}
	}
}
