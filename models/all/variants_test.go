package all_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint/checkpointtest"
)

// Settings that the tiny checkpoints leave out give the logits that PyTorch gives.
func TestVariants(t *testing.T) {
	variants, err := checkpointtest.Variants("../../testdata/variants/variants.json")
	require.NoError(t, err)
	for _, v := range variants {
		t.Run(fieldOf[v.Name]+v.Name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, v.Write(folder))
			var ids []float32
			for _, id := range v.IDs {
				ids = append(ids, float32(id))
			}
			got, vocab := run(t, openFile(t, folder), ids)["logits"], len(v.Logits[0])
			require.Len(t, got, vocab*len(ids), v.Name)
			for i, want := range v.Logits {
				compare(t, fmt.Sprintf("%s, position %d", v.Name, 4*i), got[4*i*vocab:(4*i+1)*vocab], want)
			}
		})
	}
}
