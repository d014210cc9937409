package qnn_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/host"
	"estream/lower/qnn"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/runtime"
	"estream/tools/pack"
)

// TestHostReadsPacking runs packages made for QNN on the host alone: bit for bit
// what it makes of its own.
func TestHostReadsPacking(t *testing.T) {
	b := runtime.Batch{Prompts: goldenOf(t, "olmoe").ids("batch.input_ids"), Logits: runtime.All}
	for _, encoding := range []string{"f32", "w8", "w4"} {
		e, err := pack.FindEncoding(encoding)
		require.NoError(t, err)
		own := filepath.Join(t.TempDir(), encoding)
		_, err = pack.Run(t.Context(), "../../testdata/olmoe", own, pack.Options{
			Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
			Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
		})
		require.NoError(t, err)
		want, err := opened(t, own, runtime.Options{}).Run(t.Context(), b)
		require.NoError(t, err)
		got, err := opened(t, packed(t, "olmoe", encoding), runtime.Options{Packings: []lower.Packing{qnn.Packing()}}).Run(t.Context(), b)
		require.NoError(t, err)
		require.Equal(t, want.Logits, got.Logits, encoding)
	}
}
