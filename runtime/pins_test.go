package runtime_test

import (
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
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
	some := int64(8 << 20)
	if raced {
		some = 64 << 20 // its own memory grows
	}
	for _, spare := range []int64{some, 1 << 30} {
		m := open(t, dir, runtime.Options{Memory: want.Plan.Bytes() + spare})
		first, second := run(t, m, b), run(t, m, b)
		requireBits(t, want.Logits, first.Logits, "pins are being loaded")
		requireBits(t, want.Logits, second.Logits, "pins are there")
		require.Equal(t, "pins", first.Plan.Parts[len(first.Plan.Parts)-1].Name)
		require.Zero(t, second.Stats.Bytes, "bytes read by a run after which all is in memory, with %d to spare", spare)
	}
}

// TestOnce keeps nothing for a run that will not come, whatever the budget.
func TestOnce(t *testing.T) {
	dir := packed(t, tiny, "w4")
	b := runtime.Batch{Prompts: [][]int32{openGolden(t).ints("p33.input_ids")[0]}, Logits: runtime.All}
	want := run(t, open(t, dir, runtime.Options{}), b)
	m := open(t, dir, runtime.Options{Memory: 1 << 30, Once: true})
	got := run(t, m, b)
	requireBits(t, want.Logits, got.Logits, "once")
	require.NotContains(t, got.Plan.String(), "pins")
	require.Equal(t, want.Stats.Bytes, got.Stats.Bytes, "bytes read")
	require.Equal(t, want.Stats.Bytes, run(t, m, b).Stats.Bytes, "bytes read by another run")
}

// TestGarbage: what was allocated between runs and is not needed any more is no reason to refuse the next.
func TestGarbage(t *testing.T) {
	if raced {
		t.Skip("the race detector's own memory of what was allocated stays")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or it may be gone by then
	dir := packed(t, tiny, "w4")
	b := runtime.Batch{Prompts: [][]int32{{1, 2, 3}}}
	debug.FreeOSMemory()
	first := run(t, open(t, dir, runtime.Options{}), b).Plan
	m := open(t, dir, runtime.Options{Memory: first.Bytes() + 4<<20, Once: true})
	run(t, m, b)
	garbage := make([]byte, 16<<20)
	for i := range garbage {
		garbage[i] = 1
	}
	goruntime.KeepAlive(garbage)
	run(t, m, b)
}

// TestPlanStays plans one batch again and again under a budget: what the runs
// before left in memory is theirs to use again, and not the program's.
func TestPlanStays(t *testing.T) {
	if raced {
		t.Skip("the race detector's own memory grows while runs do")
	}
	debug.FreeOSMemory() // what tests before have left is to go now, if ever
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

// TestLeftovers runs a batch of many logits rows and then a token: the room that
// its plan gives to pins was taken by the batch before, which must have given it up.
func TestLeftovers(t *testing.T) {
	if raced {
		t.Skip("the race detector's own memory grows while runs do")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // little is set aside for garbage
	dir := packed(t, trained, "w4")
	many := runtime.Batch{Prompts: [][]int32{make([]int32, 900)}, Logits: runtime.All, Each: func(int, []float32) error { return nil }}
	few := runtime.Batch{Prompts: [][]int32{{1}}}
	first, err := open(t, dir, runtime.Options{}).Plan(many)
	require.NoError(t, err)
	m := open(t, dir, runtime.Options{Memory: first.Bytes() + 2<<20})
	for range 2 {
		for _, b := range []runtime.Batch{many, few} {
			debug.FreeOSMemory()
			plan := run(t, m, b).Plan
			if now := status(t, "VmRSS:"); now > plan.Bytes() {
				t.Errorf("%d bytes are resident after a run that was planned for %d: %s", now, plan.Bytes(), plan)
			}
		}
	}
}

// status is a size in /proc/self/status; 0 where there is none.
func status(t *testing.T, field string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("the system does not tell how much memory the process has")
	}
	_, rest, _ := strings.Cut(string(text), field)
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kb << 10
}
