package cli

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/simulate"
	"estream/runtime"
	"estream/runtime/planner"
)

// From n* on the computation is the longer for each length that fits, below it the reads, 1/32 apart, whatever lengths are
// asked for and in what order. Where no length that fits has it so there is no n*.
func TestCross(t *testing.T) {
	for _, c := range []struct {
		asked             []int
		star, fits, bound int // bound: n* is at most that; 0: there is none
	}{
		{[]int{512}, 1, math.MaxInt, 1},
		{[]int{512}, 535, math.MaxInt, 544},
		{[]int{4096}, 535, math.MaxInt, 544},
		{[]int{600, 4096}, 590, math.MaxInt, 600},
		{[]int{4096, 7400}, 7284, 7500, 7400},
		{[]int{7400, 4096}, 7284, 7500, 7400},
		{[]int{4096, 7400}, 7390, 7400, 7400},
		{[]int{7350, 7400}, 7400, 7400, 7400},
		{[]int{4096}, 7284, 7500, 7400},
		{[]int{4096}, 7284, 7000, 0},
		{[]int{4096}, 7284, 4096, 0},
		{[]int{1, 64}, 7284, 100, 0},
		{[]int{4096}, 2 * planner.MostTokens, math.MaxInt, 0},
	} {
		for _, wrapped := range []error{runtime.ErrMemory, planner.ErrLimit} {
			at := func(tokens int) (x planner.Choice, err error) {
				if tokens > c.fits {
					return x, fmt.Errorf("%d tokens: %w", tokens, wrapped)
				}
				x.First = simulate.Totals{Reads: time.Duration(c.star), Compute: time.Duration(tokens)}
				return x, nil
			}
			p := &plans{}
			for _, n := range c.asked {
				x, err := at(n)
				require.NoError(t, err)
				p.lengths = append(p.lengths, planned{tokens: n, Choice: x})
			}
			require.NoError(t, p.cross(at), "%+v", c)
			if c.bound == 0 {
				require.Zero(t, p.crossing, "%+v", c)
				continue
			}
			require.GreaterOrEqual(t, p.crossing, c.star, "%+v", c)
			require.LessOrEqual(t, p.crossing, c.bound, "%+v", c)
			for _, n := range c.asked {
				if n < p.crossing-p.crossing/32 {
					require.Less(t, n, c.star, "%+v: n* %d", c, p.crossing)
				}
			}
		}
	}
}

// Another error than that of a length that does not fit is the caller's.
func TestCrossFails(t *testing.T) {
	no := errors.New("no")
	p := &plans{lengths: []planned{{tokens: 8, Choice: planner.Choice{First: simulate.Totals{Reads: 1}}}}}
	require.ErrorIs(t, p.cross(func(int) (planner.Choice, error) { return planner.Choice{}, no }), no)
}
