package models

import (
	"math"

	"estream/ir"
)

// Rotary is the rotary embedding of heads of d values that rope_theta and
// rope_scaling ask for: plain, linear or yarn. Any other is refused.
func Rotary(c *Config, d int) ir.RoPEAttr {
	a := ir.RoPEAttr{Theta: c.RopeTheta}
	if !c.Has("rope_scaling") {
		return a
	}
	s := c.Object("rope_scaling")
	if !s.Has("rope_type") {
		return a // its other keys are refused
	}
	switch s.String("rope_type", "") {
	case "linear":
		a.Factor = stretch(s)
	case "yarn":
		a.Factor, a.Scale = stretch(s), attentionFactor(s)
		a.Low, a.High = ramp(c, s, d)
	default:
		s.Refuse("rope_type", "default, linear or yarn")
	}
	return a
}

func stretch(s *Settings) float64 {
	const want = "a number from 1"
	factor := s.floatIn("factor", 0, want, func(f float64) bool { return f >= 1 })
	if factor == 0 {
		s.Refuse("factor", want)
	}
	return factor
}

// MScale is by how much yarn sharpens attention over positions that are stretched
// by factor, m being a setting's share of it.
func MScale(factor, m float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 0.1*m*math.Log(factor) + 1
}

// attentionFactor is what yarn multiplies queries and keys by. Of mscale and
// mscale_all_dim alone implementations make different things: that is refused.
func attentionFactor(s *Settings) float64 {
	factor, m, all := s.Float("factor", 1), s.optional("mscale", 0), s.optional("mscale_all_dim", 0)
	switch {
	case s.Has("attention_factor"):
		return s.floatIn("attention_factor", 1, "a number above 0", func(f float64) bool { return f > 0 })
	case m != 0 && all != 0:
		return MScale(factor, m) / MScale(factor, all)
	case all != 0:
		s.Refuse("mscale", "a number above 0, as there is an mscale_all_dim")
	case m != 0 && m != 1:
		s.Refuse("mscale_all_dim", "a number above 0, as there is an mscale")
	}
	return MScale(factor, 1)
}

// optional is Float for a key whose absence is no news.
func (s *Settings) optional(key string, def float64) float64 {
	if !s.Has(key) {
		return def
	}
	return s.Float(key, def)
}

// ramp returns between which pairs yarn goes over from the frequencies as they
// are to those that are stretched: pairs that turn more than beta_fast times
// within the original positions, and less than beta_slow times.
func ramp(c *Config, s *Settings, d int) (low, high float64) {
	const key = "original_max_position_embeddings"
	positions := s.Float(key, float64(c.MaxPositionEmbeddings))
	pair := func(key string, turns float64) float64 {
		if t := s.optional(key, turns); t > 0 {
			turns = t
		}
		return float64(d) * math.Log(positions/(turns*2*math.Pi)) / (2 * math.Log(c.RopeTheta))
	}
	low, high = pair("beta_fast", 32), pair("beta_slow", 1)
	if !s.Has("truncate") || s.Bool("truncate", true) {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(d-1))
	switch {
	case !(low <= high):
		s.Refuse(key, "positions within which some pair turns at least beta_slow times, beta_fast being more")
	case low == high:
		high += 0.001
	}
	return low, high
}
