package cli

import (
	"strings"

	"estream/tools/calibrate"
)

// printPopular draws how much of a package's calibration text reaches each expert, a
// layer a line.
func printPopular(p func(string, ...any), c *calibrate.Calibration) {
	if c == nil {
		return
	}
	most := 0.0 // times an even share
	for _, l := range c.Layers {
		for _, share := range l.Popularity {
			most = max(most, share*float64(len(l.Popularity)))
		}
	}
	p("popular   by %d tokens of its calibration: '%c' nothing to '%c' %.1f times an even share, a layer a line and an expert a column",
		c.Tokens, shades[0], shades[len(shades)-1], most)
	for _, l := range c.Layers {
		var b strings.Builder
		for _, share := range l.Popularity {
			b.WriteByte(shades[int(float64(len(shades)-1)*share*float64(len(l.Popularity))/most)])
		}
		p("%5d %s", l.Layer, b.String())
	}
}

// popularJSON is the same as JSON; null without a calibration.
func popularJSON(c *calibrate.Calibration) []map[string]any {
	if c == nil {
		return nil
	}
	var out []map[string]any
	for _, l := range c.Layers {
		out = append(out, map[string]any{"layer": l.Layer, "shares": l.Popularity})
	}
	return out
}
