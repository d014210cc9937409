package qnn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// TestHTPFamilies runs each family on the emulation of HTP and judges each graph
// on the values that it was given; then the logits, by their divergence from those
// of a run in which the interpreter's results stood for the device's.
func TestHTPFamilies(t *testing.T) {
	for _, c := range []struct {
		encoding string
		within   float64 // of the largest value of an output
		kl       float64 // with encoded weights more: what the host quantizes may round to the next code
		whole    bool
		families []string
	}{
		{"f32", 2e-3, 2e-5, false, families},
		{"w8", 3e-3, 1e-3, false, families[2:4]},
		{"w8", 3e-3, 1e-3, true, families[2:4]},
		{"w4", 3e-3, 1e-3, false, families},
	} {
		h := htp(t, c.whole)
		for _, family := range c.families {
			t.Run(fmt.Sprint(c.encoding, " ", c.whole, " ", family), func(t *testing.T) {
				judgeModel(t, h, packed(t, family, c.encoding), goldenOf(t, family).ids("p7.input_ids"), passes.Tiers{T: []int{8}, S: []int{16}, R: []int{2, 16}}, c.within, c.kl)
			})
		}
	}
}

// judgeModel runs a package twice, the second time with the interpreter in place of
// the device, and requires that no graph is further off than a share of the largest
// value of its output, nor logits diverge by more than kl. Rows do not count whose
// experts are others, as rounding has it where scores are nearly equal: few are.
func judgeModel(t *testing.T, h *qnn.Device, dir string, prompts [][]int32, tiers passes.Tiers, within, kl float64) {
	b, logits := runtime.Batch{Prompts: prompts, Logits: runtime.All}, [2][]float32{}
	var chosen [2]tapped
	for i := range logits {
		j := judged(h, i == 1)
		chosen[i] = tapped{map[string][]float32{}, map[string][]int32{}}
		o := runtime.Options{Device: static.New(j, tiers), Taps: []string{"experts.ids"}, Tap: chosen[i].tap}
		res, err := opened(t, dir, o).Run(t.Context(), b)
		require.NoError(t, err)
		require.Positive(t, j.runs)
		for graph, off := range j.off {
			require.LessOrEqual(t, off, within, "%s, of the largest value, tiers %v", graph, tiers)
		}
		logits[i] = res.Logits
		t.Log(j)
	}
	rows := len(prompts[0])
	other := others(chosen[1].ids, chosen[0].ids, rows)
	off := divergence(logits[1], logits[0], len(logits[0])/rows, other)
	t.Logf("KL %.3g, %d of %d rows with other experts", off, len(other), rows)
	require.LessOrEqual(t, off, kl)
	require.LessOrEqual(t, len(other), 1+rows/16)
}

// others returns the rows of which a layer has chosen other experts.
func others(p, q map[string][]int32, rows int) map[int]bool {
	found := map[int]bool{}
	for layer, ids := range p {
		k := len(ids) / rows
		for i := range rows {
			if !slices.Equal(slices.Sorted(slices.Values(ids[i*k:][:k])), slices.Sorted(slices.Values(q[layer][i*k:][:k]))) {
				found[i] = true
			}
		}
	}
	return found
}

// divergence returns the mean of KL(p||q) over rows of n logits, but those to skip.
func divergence(p, q []float32, n int, skip map[int]bool) float64 {
	sum := 0.0
	for i := 0; i < len(p); i += n {
		if skip[i/n] {
			continue
		}
		lp, lq := logSoftmax(p[i:i+n]), logSoftmax(q[i:i+n])
		for j := range lp {
			sum += math.Exp(lp[j]) * (lp[j] - lq[j])
		}
	}
	return sum / float64(len(p)/n-len(skip))
}

func logSoftmax(x []float32) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, e := range x {
		top = max(top, float64(e))
	}
	for _, e := range x {
		sum += math.Exp(float64(e) - top)
	}
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = float64(e) - top - math.Log(sum)
	}
	return y
}
