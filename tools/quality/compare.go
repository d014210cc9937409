package quality

import (
	"context"
	"fmt"
	"math"
	"slices"

	"estream/runtime"
)

// A Difference is what sets a package apart from a reference on one block.
type Difference struct {
	KL   float64 // sum of p*(log p - log q), p the reference's probabilities; mean over positions
	Top1 float64 // share of positions where both hold the same token likeliest
	Loss float64 // of the package; see Losses
}

// Compare returns how each of others differs from reference on each block. All
// must have one vocabulary.
func Compare(ctx context.Context, reference *runtime.Model, others []*runtime.Model, blocks [][]int32) ([][]Difference, error) {
	for i, m := range others {
		if m.Vocab() != reference.Vocab() {
			return nil, fmt.Errorf("package %d has a vocabulary of %d, the reference of %d", i, m.Vocab(), reference.Vocab())
		}
	}
	out := make([][]Difference, len(others))
	for part := range slices.Chunk(blocks, batch) {
		want := make([][]distribution, len(part))
		err := visit(ctx, reference, part, func(p, _ int, logits []float32) error {
			want[p] = append(want[p], distribution{slices.Clone(logits), logSum(logits)})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		for i, m := range others {
			got, err := differences(ctx, m, part, want)
			if err != nil {
				return nil, fmt.Errorf("package %d: %w", i, err)
			}
			out[i] = append(out[i], got...)
		}
	}
	return out, nil
}

// differences compares one package with the reference's distributions at each
// position of each block.
func differences(ctx context.Context, m *runtime.Model, blocks [][]int32, want [][]distribution) ([]Difference, error) {
	out := make([]Difference, len(blocks))
	err := visit(ctx, m, blocks, func(p, pos int, logits []float32) error {
		d, q, n := &out[p], distribution{logits, logSum(logits)}, float64(len(blocks[p]))
		d.KL += want[p][pos].divergence(q) / n
		if want[p][pos].likeliest() == q.likeliest() {
			d.Top1 += 1 / n
		}
		if next := pos + 1; next < len(blocks[p]) {
			d.Loss -= q.log(blocks[p][next]) / (n - 1)
		}
		return nil
	})
	return out, err
}

// A distribution is the softmax of logits.
type distribution struct {
	logits []float32
	sum    float64 // logSum of them
}

// log returns the log probability of a token.
func (d distribution) log(token int32) float64 { return float64(d.logits[token]) - d.sum }

// likeliest returns the likeliest token, the lowest of equals.
func (d distribution) likeliest() int { return slices.Index(d.logits, slices.Max(d.logits)) }

// divergence returns the Kullback-Leibler divergence from d to q.
func (d distribution) divergence(q distribution) float64 {
	kl := 0.0
	for token := range d.logits {
		p := d.log(int32(token))
		kl += math.Exp(p) * (p - q.log(int32(token)))
	}
	return kl
}
