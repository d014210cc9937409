package qnn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// TestHTPTiers judges bodies of each family at 16 rows and more, as the command line
// has them: what HTP makes of few rows says nothing of many.
func TestHTPTiers(t *testing.T) {
	h := htp(t, false)
	for _, family := range families {
		for _, rows := range []int{16, 64} {
			j := judged(h, false)
			device := static.New(j, passes.Tiers{T: []int{rows}, S: []int{64}, R: []int{16}})
			m := opened(t, packed(t, family, "f32"), runtime.Options{Device: device})
			_, err := m.Run(t.Context(), runtime.Batch{Prompts: goldenOf(t, family).ids("p33.input_ids")})
			require.NoError(t, err)
			for graph, off := range j.off {
				require.LessOrEqual(t, off, 2e-3, "%s of %s, %d rows, of the largest value", graph, family, rows)
			}
		}
	}
}
