package all_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// blank is a checkpoint whose routers are zero.
type blank struct{ checkpoint.Checkpoint }

func (b blank) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	err := b.Checkpoint.Read(ctx, name, row, rows, dst)
	if strings.HasSuffix(name, ".gate.weight") || strings.HasSuffix(name, "expert_bias") {
		clear(dst)
	}
	return err
}

// Where all experts are equally good, the first are chosen, within groups too.
func TestTies(t *testing.T) {
	variants, err := checkpointtest.Variants("../../testdata/variants/variants.json")
	require.NoError(t, err)
	for _, v := range variants {
		t.Run("U21 "+v.Name, func(t *testing.T) {
			folder, layers := t.TempDir(), 0
			require.NoError(t, v.Write(folder))
			for name, ids := range run(t, blank{openFile(t, folder)}, []float32{3, 1, 4}) {
				if !strings.HasPrefix(name, "topk_ids.") {
					continue
				}
				layers++
				for i, id := range ids {
					require.EqualValues(t, i%(len(ids)/3), id, "%s: %v", name, ids)
				}
			}
			require.NotZero(t, layers)
		})
	}
}
