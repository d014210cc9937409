package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// TestWork: a run on a device tells what each layer's experts were there, and that of
// the run alone.
func TestWork(t *testing.T) {
	tiers := passes.Tiers{T: []int{64}, S: []int{64}, R: []int{2}}
	device := static.New(lowertest.NewNPU(), tiers)
	m := open(t, packedForNPU(t), runtime.Options{Device: device})
	prompt := openGolden(t).ints("p33.input_ids")[0]
	k := 0
	for range 2 {
		work := run(t, m, runtime.Batch{Prompts: [][]int32{prompt}}).Stats.Work
		require.Len(t, work, 3)
		for l, w := range work {
			require.Equal(t, l, w.Layer)
			k = w.Rows / len(prompt)
			require.Equal(t, k*len(prompt), w.Rows, "each token goes to as many experts")
			require.Equal(t, w.Experts+w.Overflow, w.Launches, "%+v: with one tier each piece is a launch", w)
			require.Positive(t, w.Overflow, "rows beyond 2 are second calls")
			require.InDelta(t, 1-float64(w.Rows)/float64(2*w.Launches), w.Padding, 1e-9)
			require.Zero(t, w.Dropped)
		}
	}
	drop := device.With(tiers, static.Policy{Drop: true})
	for _, w := range run(t, open(t, packedForNPU(t), runtime.Options{Device: drop}), runtime.Batch{Prompts: [][]int32{prompt}}).Stats.Work {
		require.Positive(t, w.Dropped)
		require.Equal(t, k*len(prompt), w.Rows+w.Dropped)
	}
	require.Empty(t, run(t, open(t, packed(t, tiny, "f32"), runtime.Options{}), runtime.Batch{Prompts: [][]int32{prompt}}).Stats.Work, "on the host")
}
