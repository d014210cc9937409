package check

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIndex(t *testing.T) {
	require.Equal(t, []int{1, 2, 3}, index(1*12+2*4+3, []int{2, 3, 4}))
	require.Equal(t, []int{5}, index(5, []int{9}))
}

// The limit is absolute below a largest magnitude of 1, relative above; ids are
// equal or wrong; what is no number is wrong.
func TestCompare(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name         string
		ours, interp []float32
		want         tensor
		over         bool
		verdict      Verdict
		worst        []int
	}{
		{"small", []float32{0.01, 0}, []float32{0, 0}, tensor{data: []float32{0.005, 0}}, false, Agrees, []int{0}},
		{"small, over", []float32{0, 0.02}, []float32{0, 0}, tensor{data: []float32{0, 0}}, true, Backend, []int{1}},
		{"large", []float32{1000, 5}, []float32{1000, 0}, tensor{data: []float32{1000, 0}}, false, Agrees, []int{1}},
		{"ids", []float32{1, 2}, []float32{1, 2}, tensor{data: []float32{1, 3}, exact: true}, true, Graph, []int{1}},
		{"NaN", []float32{nan, 0}, []float32{0, 0}, tensor{data: []float32{0, 0}}, true, Backend, []int{0}},
		{"interpreter", []float32{0, 0}, []float32{0, 1}, tensor{data: []float32{0, 0}}, true, Interpreter, []int{1}},
		{"all three", []float32{1, 0}, []float32{-1, 0}, tensor{data: []float32{0, 0}}, true, Unclear, []int{0}},
		{"no second opinion", []float32{1, 0}, nil, tensor{data: []float32{0, 0}}, true, Unclear, []int{0}},
		{"no run", nil, []float32{0, 0}, tensor{data: []float32{0, 0}}, false, Agrees, []int{0}},
	} {
		r := &Report{Tolerance: 0.01, First: -1}
		c.want.shape = []int{2}
		require.NoError(t, r.compare(pair{golden: "g"}, c.want, c.ours, c.interp), c.name)
		r.judge()
		require.Equal(t, []any{c.over, c.verdict, c.worst}, []any{r.Rows[0].Over, r.Verdict, r.Rows[0].Worst.Index}, c.name)
		_, err := json.Marshal(r)
		require.NoError(t, err, c.name)
	}
}

func TestNumber(t *testing.T) {
	text, err := json.Marshal([]Number{1.5, Number(math.Inf(1)), Number(math.NaN())})
	require.NoError(t, err)
	require.JSONEq(t, `[1.5, "+Inf", "NaN"]`, string(text))
}
