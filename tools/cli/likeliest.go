package cli

import (
	"math"
	"slices"

	"estream/runtime/tokenizer"
)

// A candidate is one of the likeliest next tokens.
type candidate struct {
	ID    int32   `json:"id"`
	Text  string  `json:"text"`
	Prob  float64 `json:"prob"`
	Logit float32 `json:"logit"`
}

// likeliest returns the n most probable tokens by logits, ties to the lower id.
// Rows of the head beyond the tokenizer's ids are padding, and no token is likely there.
func likeliest(logits []float32, n int, tok *tokenizer.Tokenizer) []candidate {
	if tok != nil {
		logits = logits[:min(len(logits), max(tok.Size(), 1))]
	}
	var top []int32 // falling
	for i, x := range logits {
		at, _ := slices.BinarySearchFunc(top, x, func(id int32, x float32) int {
			if logits[id] >= x {
				return -1
			}
			return 1
		})
		if at < n {
			top = slices.Insert(top, at, int32(i))[:min(n, len(top)+1)]
		}
	}
	sum, most := 0.0, logits[top[0]]
	for _, x := range logits {
		sum += math.Exp(float64(x - most))
	}
	var out []candidate
	for _, id := range top {
		c := candidate{ID: id, Prob: math.Exp(float64(logits[id]-most)) / sum, Logit: logits[id]}
		if tok != nil {
			c.Text, _ = tok.Decode([]int32{id}) // an id the vocabulary lacks has no text
		}
		out = append(out, c)
	}
	return out
}
