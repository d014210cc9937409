package runtime_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint/checkpointtest"
	"estream/runtime"
)

// TestVariants packs and runs settings of the families that the tiny checkpoints
// leave out.
func TestVariants(t *testing.T) {
	variants, err := checkpointtest.Variants("../testdata/variants/variants.json")
	require.NoError(t, err)
	for _, v := range variants {
		t.Run(v.Name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, v.Write(folder))
			m := open(t, packed(t, folder, "f32"), runtime.Options{Chunk: 7})
			rows := slices.Collect(slices.Chunk(logitsOf(t, m, v.IDs), m.Vocab()))
			require.Len(t, rows, len(v.IDs))
			for i, want := range v.Logits {
				for j, got := range rows[4*i] {
					require.InDelta(t, want[j], got, tolerance, "position %d, token %d", 4*i, j)
				}
			}
		})
	}
}
