package quality

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDivergence(t *testing.T) {
	of := func(logits ...float32) distribution { return distribution{logits, logSum(logits)} }
	log := func(p float64) float32 { return float32(math.Log(p)) }
	for _, c := range []struct {
		p, q distribution
		want float64
	}{
		{of(1, 2, 3), of(1, 2, 3), 0},
		{of(1, 2, 3), of(101, 102, 103), 0},
		{of(0, 0), of(log(0.25), log(0.75)), 0.5*math.Log(2) + 0.5*math.Log(2.0/3)},
		{of(log(0.25), log(0.75)), of(0, 0), 0.25*math.Log(0.5) + 0.75*math.Log(1.5)},
		{of(200, -200), of(0, 0), math.Log(2)}, // a probability of 0 in float64 adds nothing
	} {
		require.InDelta(t, c.want, c.p.divergence(c.q), 1e-6, "from %v to %v", c.p, c.q)
	}
	require.Equal(t, 1, of(0, 2, 2).likeliest())
	require.InDelta(t, math.Log(2)+1000, logSum([]float32{1000, 1000}), 1e-9)
}

func TestBest(t *testing.T) {
	it := Item{Choices: []string{" abcdefghi", " é", " cd"}, Gold: 1}
	for _, c := range []struct {
		scores []float64
		norm   bool
		want   int
	}{
		{[]float64{-10, -4, -9}, false, 1},
		{[]float64{-10, -4, -9}, true, 0}, // -1, -4/3, -3 a byte
		{[]float64{-31, -9, -9}, true, 1}, // bytes, not characters; the first of equals
		{[]float64{-3, -3, -4}, false, 0},
	} {
		require.Equal(t, c.want, it.Best(c.scores, c.norm), "%v, norm %v", c.scores, c.norm)
	}
	require.Equal(t, 0.5, Accuracy([]Item{it, it}, [][]float64{{-10, -4, -9}, {-3, -3, -4}}, false))
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.jsonl")
	for _, c := range []struct{ text, want string }{
		{"{\"id\": \"a\"}\n{\"id\": \"b\"}\n", ""},
		{"{\"id\": \"a\"}\n{\"id\": 3}\n", path + ", object 1: json: cannot unmarshal number into Go struct field Item.id of type string"},
		{"{\"id\": \"a\"", path + ", object 0: unexpected EOF"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		items, err := Read[Item](path)
		if c.want != "" {
			require.EqualError(t, err, c.want, c.text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []Item{{ID: "a"}, {ID: "b"}}, items)
	}
	_, err := Read[Item](path + ".none")
	require.ErrorIs(t, err, os.ErrNotExist)
}
