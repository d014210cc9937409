package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

// TestPins runs one prompt twice with some memory to spare and with plenty: the
// same comes out, and with plenty the second run reads nothing.
func TestPins(t *testing.T) {
	dir := packed(t, tiny, "w4")
	b := runtime.Batch{Prompts: [][]int32{openGolden(t).ints("p33.input_ids")[0]}, Logits: runtime.All}
	m := open(t, dir, runtime.Options{})
	want := run(t, m, b)
	for _, spare := range []int64{8 << 20, 1 << 30} {
		m := open(t, dir, runtime.Options{Memory: want.Plan.Bytes() + spare})
		first, second := run(t, m, b), run(t, m, b)
		requireBits(t, want.Logits, first.Logits, "pins are being loaded")
		requireBits(t, want.Logits, second.Logits, "pins are there")
		require.Equal(t, "pins", first.Plan.Parts[len(first.Plan.Parts)-1].Name)
		require.Zero(t, second.Stats.Bytes, "bytes read by a run after which all is in memory, with %d to spare", spare)
	}
}

// TestPlanStays plans one batch again and again under a budget: what the runs
// before left in memory is theirs to use again, and not the program's.
func TestPlanStays(t *testing.T) {
	dir := packed(t, trained, "w4")
	b := runtime.Batch{Prompts: [][]int32{make([]int32, 200)}}
	m := open(t, dir, runtime.Options{Threads: 8})
	first, err := m.Plan(b)
	require.NoError(t, err)
	m = open(t, dir, runtime.Options{Threads: 8, Memory: first.Bytes() + 4<<20})
	first = run(t, m, b).Plan
	for range 3 {
		require.Equal(t, first.Parts, run(t, m, b).Plan.Parts)
	}
}
