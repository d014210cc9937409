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

// weightsJSON is a report as JSON
func weightsJSON(path, kind string, r *weights.Report) map[string]any {
	tensors, alike := []map[string]any{}, []map[string]any{}
	for _, t := range r.Tensors {
		errors := []map[string]any{}
		for _, l := range t.Errors {
			errors = append(errors, map[string]any{"encoding": l.Encoding, "snr_db": number64(l.SNR()), "relative": number64(math.Sqrt(l.Noise / l.Signal)), "max": l.Max})
		}
		tensors = append(tensors, map[string]any{
			"layer": t.Layer, "expert": t.Expert, "name": t.Name, "type": t.Type, "shape": t.Shape, "values": t.Values,
			"odd": t.Odd, "zeros": t.Zeros, "min": t.Min, "max": t.Max, "mean": t.Mean, "rms": t.RMS, "kurtosis": t.Kurtosis, "outliers": t.Outliers,
			"sampled": t.Sampled, "encodings": errors,
		})
	}
	for _, x := range r.Alike {
		rows := make([][]float64, len(x.Cosine))
		for i, row := range x.Cosine {
			for _, c := range row {
				rows[i] = append(rows[i], math.Round(1e4*float64(c))/1e4)
			}
		}
		alike = append(alike, map[string]any{"layer": x.Layer, "cosine": rows})
	}
	return map[string]any{"path": path, "kind": kind, "tensors": tensors, "expert_similarity": alike}
}

// number64 is a number in JSON, null where it is none.
func number64(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
