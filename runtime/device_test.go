package runtime_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager"
	"estream/passes"
	"estream/runtime"
	"estream/tools/pack"
)

// TestDevice runs each family's goldens on the fake NPU: static tiers, handles for
// memory, a packing of its own, which the host reads too where routes stay
// with it.
func TestDevice(t *testing.T) {
	eachFamily(t, testDevice)
}

func testDevice(t *testing.T, from string, g golden) {
	npu := lowertest.NewNPU()
	t.Cleanup(func() { require.Zero(t, npu.Live(), "device memory that nobody freed") })
	device := static.New(npu, passes.Tiers{T: []int{4, 16}, S: []int{16, 64}, R: []int{2, 8}})
	e, err := pack.FindEncoding("f32")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "npu")
	_, err = pack.Run(t.Context(), from, dir, pack.Options{
		Encoding: e, Backend: device.Name(), Packing: device.Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	for _, o := range []runtime.Options{{Device: device}, {Device: device, Banks: 1, Group: 1, Readers: 1, Chunk: 7}, {Device: device, Schedule: pager.Guessed}} {
		m := open(t, dir, o)
		for _, prompt := range []string{"p1", "p7", "p33", "batch", "ragged0", "ragged1", "ragged2"} {
			before := npu.Runs()
			res := run(t, m, runtime.Batch{Prompts: g.ints(prompt + ".input_ids"), Logits: runtime.All})
			g.requireGolden(prompt+".logits", res.Logits)
			require.Equal(t, res.Plan.Schedule == pager.Guessed, len(res.Stats.Guesses) > 0, "layers that were guessed on the host")
			require.GreaterOrEqual(t, npu.Runs()-before, 2*(1+2), "two layers of a body, and of at least two experts")
		}
	}
}

// TestHostReadsForeignPacking runs a package made for the NPU on the host alone.
func TestHostReadsForeignPacking(t *testing.T) {
	g := openGolden(t)
	npu := static.New(lowertest.NewNPU(), passes.Tiers{T: []int{4}, S: []int{8}, R: []int{2}})
	dir := filepath.Join(t.TempDir(), "npu")
	e, err := pack.FindEncoding("w4")
	require.NoError(t, err)
	options := pack.Options{Encoding: e, Backend: npu.Name(), Packing: npu.Packings()[0], Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors}}
	_, err = pack.Run(t.Context(), tiny, dir, options)
	require.NoError(t, err)
	_, err = runtime.Open(t.Context(), dir, runtime.Options{})
	require.ErrorContains(t, err, `packed for "npu.kn", which no backend here reads`)

	b := runtime.Batch{Prompts: g.ragged(), Logits: runtime.All}
	m := open(t, dir, runtime.Options{Packings: npu.Packings()})
	requireBits(t, run(t, open(t, packed(t, tiny, "w4"), runtime.Options{}), b).Logits, run(t, m, b).Logits, "the NPU's packing on the host")
}
