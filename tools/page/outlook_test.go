package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
)

// The arena of a page without a plan is that of a run, and n* is 1.2 F E S / (2 BW W (k +
// shared)), where an expert of W weights takes S bytes.
func TestOutlook(t *testing.T) {
	const experts, stride, weights = 8, 32 << 10, 3 * 64 * 32 // of all tiny models in f32
	for family, met := range map[string]float64{"olmoe": 3, "qwen3": 3, "mixtral": 2, "lfm2": 2, "deepseek": 3 + 2} {
		s, dir := packed(t, family, "f32")
		m, err := runtime.Open(t.Context(), dir, runtime.Options{Host: s.Host, Ops: s.Ops})
		require.NoError(t, err)
		plan, err := m.PlanAs(t.Context(), 64, runtime.Shape{}, 0)
		require.NoError(t, err)
		require.NoError(t, m.Close())

		v, err := look(s)
		require.NoError(t, err)
		require.Equal(t, plan.Geometry, v.Outlook.Arena, family)
		slot := plan.Geometry.DenseSlot
		require.Equal(t, pager.Geometry{Banks: 1, Group: 1, Stride: stride, DenseSlot: slot, Align: 16 << 10}, v.Outlook.Least, family)
		require.InEpsilon(t, 1.2*100e9*experts*stride/(2*1e9*weights*met), v.Outlook.Saturation, 1e-12, family)
		require.Greater(t, v.Outlook.Pass, 2*int64(experts*stride), family)
	}
}
