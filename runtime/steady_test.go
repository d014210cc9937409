package runtime_test

import (
	"math"
	goruntime "runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

// TestSteadyState: what a run of a model allocates on Go's heap is a bounded number of things for each layer and step,
// and none for a token, a route, a group, its read or an expert of it.
func TestSteadyState(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	m := open(t, packed(t, trained, "w4"), runtime.Options{Threads: 2, Chunk: 1 << 12, Readers: 2, Banks: 2, Group: 16})
	few := allocations(t, m, 512)
	many := allocations(t, m, 1<<12) // and as many ids, so that each block of the table is read by both
	require.Less(t, few, 850, "allocations of a run of 4 layers")
	require.Less(t, many, few+25, "allocations of a run with 8 times the tokens")
	one := open(t, packed(t, trained, "w4"), runtime.Options{Threads: 2, Chunk: 1 << 12, Readers: 2, Banks: 2, Group: 1})
	more := allocations(t, one, 512)
	groups := 4 * (16 - 1)
	require.Less(t, more, few+groups/2, "allocations of a run with %d more groups, each of which is read", groups)
}

// allocations is how many things a run of a prompt allocates, when there were runs
// before it: the least of some, as Go's scheduler allocates too in the first ones.
func allocations(t *testing.T, m *runtime.Model, tokens int) int {
	t.Helper()
	ids := make([]int32, tokens)
	for i := range ids {
		ids[i] = int32(i * (2048 / 512) % 2048)
	}
	b := runtime.Batch{Prompts: [][]int32{ids}}
	run(t, m, b)
	least := math.MaxInt
	for range 5 {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		run(t, m, b)
		goruntime.ReadMemStats(&after)
		least = min(least, int(after.Mallocs-before.Mallocs))
	}
	return least
}
