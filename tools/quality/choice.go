package quality

import (
	"context"
	"fmt"
	"slices"

	"estream/runtime"
	"estream/runtime/tokenizer"
)

// An Item is a multiple-choice question: which choice goes on from the context.
type Item struct {
	ID      string   `json:"id"`
	Context string   `json:"ctx"`
	Choices []string `json:"choices"` // each begins as it goes on, mostly with a space
	Gold    int      `json:"gold"`    // the right one
}

// together is how many items are run as one batch.
const together = 8

// Scores returns for each choice of each item the log probability of its tokens
// after begin and the context's tokens. Context and choice are encoded apart, as
// lm-evaluation-harness does for contexts that end in no space.
func Scores(ctx context.Context, m *runtime.Model, tok *tokenizer.Tokenizer, begin int32, items []Item) ([][]float64, error) {
	var out [][]float64
	for part := range slices.Chunk(items, together) {
		got, err := scores(ctx, m, tok, begin, part)
		if err != nil {
			return nil, fmt.Errorf("items from %s: %w", part[0].ID, err)
		}
		out = append(out, got...)
	}
	return out, nil
}

func scores(ctx context.Context, m *runtime.Model, tok *tokenizer.Tokenizer, begin int32, items []Item) ([][]float64, error) {
	var prompts [][]int32
	var given []int // tokens of each prompt before the choice
	out := make([][]float64, len(items))
	var at []*float64 // where each prompt's score goes
	for i, item := range items {
		context, err := tok.Encode(item.Context, false)
		if err != nil {
			return nil, err
		}
		context = append([]int32{begin}, context...)
		out[i] = make([]float64, len(item.Choices))
		for j, choice := range item.Choices {
			ids, err := tok.Encode(choice, false)
			if err != nil {
				return nil, err
			}
			prompts, given, at = append(prompts, slices.Concat(context, ids)), append(given, len(context)), append(at, &out[i][j])
		}
	}
	return out, visit(ctx, m, prompts, func(p, pos int, logits []float32) error {
		if next := pos + 1; next >= given[p] && next < len(prompts[p]) {
			*at[p] += distribution{logits, logSum(logits)}.log(prompts[p][next])
		}
		return nil
	})
}

// Best returns the choice of the highest score, the first of equals; where norm
// is set, of the highest score a byte of the choice's text.
func (it Item) Best(scores []float64, norm bool) int {
	s := slices.Clone(scores)
	for i := range s {
		if norm {
			s[i] /= float64(len(it.Choices[i]))
		}
	}
	return slices.Index(s, slices.Max(s))
}

// Accuracy returns the share of items whose Best is right.
func Accuracy(items []Item, scores [][]float64, norm bool) float64 {
	right := 0
	for i, it := range items {
		if it.Best(scores[i], norm) == it.Gold {
			right++
		}
	}
	return float64(right) / float64(len(items))
}
