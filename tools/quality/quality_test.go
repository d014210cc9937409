package quality

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/pack"
)

// few are places among the sampled blocks, for a quick look: three on which an
// independent forward pass in float64 has the mean divergence of all 16 within
// 2 % for w4 and 10 % for w8.
func few() []int { return []int{1, 3, 10} }

// The small trained model, from checkpoint to numbers.
func TestTrained(t *testing.T) {
	blocks, look, every := 3, few(), 5
	if testing.Short() {
		blocks, look, every = 1, look[:1], 100
	}
	m := loadTrained(t, "../../testdata/trained-small")
	plain := m.plain(t)

	t.Run("losses", func(t *testing.T) {
		got, err := Losses(t.Context(), plain.Model, m.blocks[:blocks])
		require.NoError(t, err)
		checkLosses(t, got, m.ref.Perplexity.Losses)
	})
	t.Run("divergence", func(t *testing.T) {
		var part [][]int32
		for _, i := range look {
			part = append(part, sampled(m.blocks)[i])
		}
		encoded := m.encoded(t)
		got, err := Compare(t.Context(), plain.Model, models(encoded), part)
		require.NoError(t, err)
		for i, e := range encodings() {
			checkDivergence(t, encoded[i].name, mean(got[i]).KL, m.ref.Quant[e.row].KL, e.few)
		}
	})
	t.Run("choices", func(t *testing.T) {
		var items []Item
		var want [][]float64
		for i := 0; i < len(m.items); i += every {
			items, want = append(items, m.items[i]), append(want, m.ref.MC.Scores[i])
		}
		got, err := Scores(t.Context(), plain.Model, m.tok, endOfText, items)
		require.NoError(t, err)
		checkScores(t, items, got, want)
	})
}

func mean(ds []Difference) Difference {
	var m Difference
	n := float64(len(ds))
	for _, d := range ds {
		m.KL, m.Top1, m.Loss = m.KL+d.KL/n, m.Top1+d.Top1/n, m.Loss+d.Loss/n
	}
	return m
}

func TestCompareVocabularies(t *testing.T) {
	large := loadTrained(t, "../../testdata/trained-small")
	small := trained{dir: "../../testdata/olmoe"}
	e := pack.Encoding{Name: "exact"}
	a, b := large.pack(t, e), small.pack(t, e)
	_, err := Compare(t.Context(), a.Model, models([]packed{a, b}), large.blocks[:1])
	require.EqualError(t, err, "package 1 has a vocabulary of 160, the reference of 2048")
}
