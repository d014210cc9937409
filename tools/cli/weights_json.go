package cli

import (
	"math"

	"estream/tools/weights"
)

// weightsJSON is a report as JSON.
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
