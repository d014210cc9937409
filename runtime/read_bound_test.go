package runtime_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
)

// TestRefusedCost: what a refused budget says that a run reads is no less than a run of the smallest plan reads, and, where
// routes are not waited for, nothing more.
func TestRefusedCost(t *testing.T) {
	dir := packed(t, tiny, "w4")
	ids := make([]int32, 700)
	for _, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.OnDemand, pager.Guessed} {
		for _, tokens := range []int{1, 700} {
			m := open(t, dir, runtime.Options{Schedule: schedule, Readers: 1, Banks: 1, Group: 1, Chunk: 16})
			for i := range ids {
				ids[i] = int32(i * m.Vocab() / len(ids))
			}
			_, err := m.PlanAs(t.Context(), tokens, runtime.Shape{Readers: 1, Banks: 1, Group: 1}, 1)
			require.ErrorIs(t, err, runtime.ErrMemory)
			told := regexp.MustCompile(`a run reads up to ([0-9.]+) MiB`).FindStringSubmatch(err.Error())
			require.NotNil(t, told, err)
			most, err := strconv.ParseFloat(told[1], 64)
			require.NoError(t, err)
			res, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{ids[:tokens]}})
			require.NoError(t, err)
			read := float64(res.Stats.Bytes) / (1 << 20)
			require.LessOrEqual(t, read, most+0.05, "%v, %d tokens", schedule, tokens)
			if schedule == pager.BeforeRouting && tokens == len(ids) {
				require.InDelta(t, read, most, 0.06, "%v, %d tokens", schedule, tokens)
			}
		}
	}
}
