package planner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/simulate"
	"estream/runtime"
	"estream/runtime/planner"
)

// From wherever it is sought, n* is where computing begins to take longer than reads do, 1/64 apart.
func TestCrossing(t *testing.T) {
	for _, want := range []int{1, 2, 3, 63, 64, 535, 4096, 1_000_000} {
		for _, known := range []int{1, 2, 300, 512, 4096, planner.MostTokens} {
			tries := 0
			at := func(tokens int) (c planner.Choice, err error) {
				tries++
				require.LessOrEqual(t, tokens, planner.MostTokens)
				c.First = simulate.Totals{Reads: time.Duration(want), Compute: time.Duration(tokens)}
				return c, nil
			}
			c, err := at(known)
			require.NoError(t, err)
			got, err := planner.Crossing(known, c, at)
			require.NoError(t, err)
			require.GreaterOrEqual(t, got, want)
			require.LessOrEqual(t, got, want+want/64, "from %d, want %d", known, want)
			require.Less(t, tries, 32)
		}
	}
}

func TestNoCrossing(t *testing.T) {
	slow := planner.Choice{First: simulate.Totals{Reads: 1}}
	_, err := planner.Crossing(512, slow, func(int) (planner.Choice, error) { return slow, nil })
	require.ErrorIs(t, err, planner.ErrNoCrossing)
	no := errors.New("no")
	_, err = planner.Crossing(512, slow, func(int) (planner.Choice, error) { return slow, no })
	require.ErrorIs(t, err, no)
}

// What is said of n* holds of choices: below it reads take longer, from it the computation.
func TestCrossingOfChoices(t *testing.T) {
	p := made()
	at := func(tokens int) (planner.Choice, error) {
		return p.Pick(func(s runtime.Shape) (runtime.Plan, error) {
			x, err := plan(s)
			x.Tokens, x.Chunk = tokens, min(tokens, 512)
			return x, err
		})
	}
	c, err := at(8)
	require.NoError(t, err)
	n, err := planner.Crossing(8, c, at)
	require.NoError(t, err)
	require.Greater(t, n, 64)
	for tokens := 8; tokens < 16*n; tokens += tokens / 3 {
		c, err := at(tokens)
		require.NoError(t, err)
		if tokens >= n || tokens <= n-n/32 {
			require.Equal(t, tokens >= n, c.First.Compute >= c.First.Reads, "n* %d, %d tokens: Tio %v, Texec %v", n, tokens, c.First.Reads, c.First.Compute)
		}
	}
}
