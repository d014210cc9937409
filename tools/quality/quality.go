// Package quality measures what a package makes of text: its loss on held-out
// text, how far its distributions are from those of another package, and which
// of several continuations it prefers.
//
// Losses and divergences are in nats, and summed in float64. Logits are looked
// at a row at a time; only Compare keeps some, those of the reference for one
// batch of blocks. Models stay the caller's.
package quality

import (
	"context"
	"fmt"
	"math"
	"slices"

	"estream/runtime"
)

// batch is how many blocks are run together.
const batch = 4

// Losses returns for each block the mean negative log likelihood of its tokens
// but the first, each given those before it. Blocks have two tokens or more.
func Losses(ctx context.Context, m *runtime.Model, blocks [][]int32) ([]float64, error) {
	var out []float64
	for part := range slices.Chunk(blocks, batch) {
		sums := make([]float64, len(part))
		err := visit(ctx, m, part, func(p, pos int, logits []float32) error {
			if next := pos + 1; next < len(part[p]) {
				sums[p] += logSum(logits) - float64(logits[part[p][next]])
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("losses from block %d: %w", len(out), err)
		}
		for p, sum := range sums {
			out = append(out, sum/float64(len(part[p])-1))
		}
	}
	return out, nil
}

// visit runs prompts as one batch and gives fn the logits at each position of
// each; they are valid until fn returns.
func visit(ctx context.Context, m *runtime.Model, prompts [][]int32, fn func(prompt, pos int, logits []float32) error) error {
	prompt, first := 0, 0
	each := func(row int, logits []float32) error {
		for row-first >= len(prompts[prompt]) {
			first += len(prompts[prompt])
			prompt++
		}
		return fn(prompt, row-first, logits)
	}
	_, err := m.Run(ctx, runtime.Batch{Prompts: prompts, Logits: runtime.All, Each: each})
	return err
}

// logSum returns the logarithm of the sum of the logits' exponentials: what is
// to be taken from a logit for a log probability.
func logSum(logits []float32) float64 {
	most := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - most)
	}
	return most + math.Log(sum)
}
