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
