package all_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
	"estream/models/all"
	"estream/models/checkpoint"
)

// What users of such tools found wrong, by its number. Goldens and variants that are for one of these are marked so.
var fieldOf = map[string]string{
	"deepseek, yarn, mscale apart": "U18 ", "deepseek, yarn without mscale": "U18 ", // past the original positions
	"olmoe, few keys, clipped, normalized": "U19 ", "qwen3, some layers dense, tied, not normalized": "U19 ",
	"lfm2, no dense layers, bias, tied": "U20 ",
}

// With mscale and mscale_all_dim alike, rotation is not scaled and scores are.
func TestYarnScales(t *testing.T) {
	m, err := build(config(t, "../../testdata/deepseek/config.json", nil))
	require.NoError(t, err)
	text := m.String()
	require.Equal(t, strings.Count(text, " = rope "), strings.Count(text, " factor=40 low=2 high=6 scale=1 :"), "U18 rope")
	scale := math.Pow(0.1*0.707*math.Log(40)+1, 2)
	require.InDelta(t, 1.5896, scale, 1e-4)
	require.Contains(t, text, fmt.Sprintf(" scale=%v window=0 :", scale/math.Sqrt(32)), "U18 softmax")
}

// An altered checkpoint has another config.json, or other values in tensors of some name.
type altered struct {
	checkpoint.Checkpoint
	config []byte
	suffix string
	value  func(row int) float32
}

func (a altered) Config() ([]byte, error) {
	if a.config != nil {
		return a.config, nil
	}
	return a.Checkpoint.Config()
}

func (a altered) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	if a.suffix == "" || !strings.HasSuffix(name, a.suffix) {
		return a.Checkpoint.Read(ctx, name, row, rows, dst)
	}
	for i := range dst {
		dst[i] = a.value(row + i)
	}
	return nil
}

// Weights that sum to 1, and those that do not, are two models; one that says neither is the family's, which is told.
func TestNormalizedOrNot(t *testing.T) {
	const path = "../../testdata/olmoe/config.json"
	ids := []float32{3, 1, 4}
	logits := map[any][]float32{}
	for _, norm := range []any{true, false, nil} {
		a := altered{Checkpoint: openFile(t, "../../testdata/olmoe"), config: edited(t, path, map[string]any{"norm_topk_prob": norm})}
		if norm == nil {
			a.config = []byte(strings.Replace(string(a.config), `"norm_topk_prob":null,`, "", 1))
		}
		m, err := models.Open(a, all.Families())
		require.NoError(t, err)
		told := slices.Contains(m.Notes, "the checkpoint does not say norm_topk_prob: false is taken")
		require.Equal(t, norm == nil, told, "U19 norm_topk_prob %v: %q", norm, m.Notes)
		values := run(t, a, ids)
		logits[norm] = values["logits"]
		w := values["topk_weights.0"]
		k := len(w) / len(ids)
		for r := range ids {
			sum := 0.0
			for _, x := range w[r*k : (r+1)*k] {
				sum += float64(x)
			}
			require.Equal(t, norm == true, math.Abs(sum-1) < 1e-5, "U19 norm_topk_prob %v: weights %v of token %d", norm, w, r)
		}
	}
	require.Equal(t, logits[false], logits[nil], "U19 absent")
	require.NotEqual(t, logits[true], logits[false], "U19 two goldens")
}

// A bias that turns the choice around chooses, and weighs nothing.
func TestBiasOnlySelects(t *testing.T) {
	ids := []float32{3, 1, 4}
	plain := openFile(t, "../../testdata/lfm2")
	turned := run(t, altered{Checkpoint: plain, suffix: ".expert_bias", value: func(e int) float32 { return 100 * float32(e) }}, ids)
	chosen, weights, logits := turned["topk_ids.2"], turned["topk_weights.2"], turned["router_logits.2"]
	require.NotEqual(t, run(t, plain, ids)["topk_ids.2"], chosen)
	experts, k := len(logits)/len(ids), len(chosen)/len(ids)
	for r := range ids {
		var scores []float64
		sum := 1e-6
		for j := range k {
			e := int(chosen[r*k+j])
			require.Equal(t, experts-1-j, e, "U20 ids %v", chosen)
			scores = append(scores, 1/(1+math.Exp(-float64(logits[r*experts+e]))))
			sum += scores[j]
		}
		for j, s := range scores {
			require.InDelta(t, s/sum, weights[r*k+j], 1e-5, "U20 weights of token %d: %v", r, weights)
		}
	}
}
