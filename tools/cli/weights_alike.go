package cli

import (
	"math"
	"strings"

	"estream/tools/weights"
)

// shades of a heat map, from the least to the most.
const shades = " .:-=+*#%@"

// printAlike prints how alike the experts of each layer are, and heat maps: of all
// layers, or of the one whose two most alike experts are most so.
func printAlike(p func(string, ...any), layers []weights.Alike, all bool) {
	if len(layers) == 0 {
		return
	}
	p("experts   how alike: the cosine between the weights of two, the mean of their matrices; 1 are copies")
	best, at := float32(math.Inf(-1)), 0
	for l, x := range layers {
		i, j, most, mean := x.Pair()
		p("layer %-3d %d experts, mean %.4f; most alike are %d and %d, %.4f", x.Layer, len(x.Cosine), mean, i, j, most)
		if most > best {
			best, at = most, l
		}
	}
	for l, x := range layers {
		if all || l == at {
			printHeat(p, x)
		}
	}
}

// printHeat draws the pairs of a layer's experts, a character each.
func printHeat(p func(string, ...any), x weights.Alike) {
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for i, row := range x.Cosine {
		for _, c := range row[:i] {
			low, high = min(low, c), max(high, c)
		}
	}
	p("layer %d: '%c' %.4f to '%c' %.4f, an expert a line and a column", x.Layer, shades[0], low, shades[len(shades)-1], high)
	for i, row := range x.Cosine {
		var b strings.Builder
		for j, c := range row {
			shade := byte('\\')
			if i != j {
				shade = shades[int(float32(len(shades)-1)*(c-low)/max(high-low, 1e-9))]
			}
			b.WriteByte(shade)
		}
		p("%5d %s", i, b.String())
	}
}
