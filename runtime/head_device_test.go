package runtime_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/passes"
	"estream/runtime"
	"estream/tools/pack"
)

// TestHeadOnDevice runs each family's goldens with the head on the fake NPU too, its
// rows in tiers, for the last rows and for all.
func TestHeadOnDevice(t *testing.T) {
	eachFamily(t, func(t *testing.T, from string, g golden) {
		npu := lowertest.NewNPU()
		device := static.New(npu, passes.Tiers{T: []int{16}, S: []int{64}, R: []int{8}, L: []int{1, 8}})
		e, err := pack.FindEncoding("f32")
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "npu")
		_, err = pack.Run(t.Context(), from, dir, pack.Options{
			Encoding: e, Backend: device.Name(), Packing: device.Packings()[0],
			Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
		})
		require.NoError(t, err)
		m := open(t, dir, runtime.Options{Device: device})
		columns := runtime.HeadColumns(m.Manifest(), len(m.Module().Layers))
		require.Contains(t, []int{1, 2}, len(columns))
		var on []string
		for _, x := range m.Module().Graphs {
			if x.On == device.Name() && strings.HasPrefix(x.Name, "head.") {
				on = append(on, x.Name)
			}
		}
		require.Len(t, on, 2+2+2*len(columns), "%v", on)
		for _, prompt := range []string{"p1", "p33", "batch"} {
			for _, logits := range []runtime.Logits{runtime.All, runtime.Last} {
				res := run(t, m, runtime.Batch{Prompts: g.ints(prompt + ".input_ids"), Logits: logits})
				if logits == runtime.All {
					g.requireGolden(prompt+".logits", res.Logits)
				}
			}
		}
	})
}
