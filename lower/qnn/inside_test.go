package qnn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// TestInside: weights inside the graphs of layers give the same bits as weights that
// are bound at each run; a budget that does not hold them leaves them out.
func TestInside(t *testing.T) {
	for _, c := range []struct {
		name, family, encoding string
		device                 func(t testing.TB) *qnn.Device
	}{
		{"cpu f32", "deepseek", "f32", cpu},
		{"cpu bf16", "lfm2", "bf16", cpu},
		{"cpu w8", "olmoe", "w8", cpu},
		{"htp w8", "olmoe", "w8", func(t testing.TB) *qnn.Device { return prepared(t, "v79") }},
		{"htp a16w8", "olmoe", "w8", func(t testing.TB) *qnn.Device { return htp(t, true) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := packed(t, c.family, c.encoding)
			b := runtime.Batch{Prompts: goldenOf(t, c.family).ids("p7.input_ids"), Logits: runtime.All}
			d := &counting{Device: c.device(t)}
			device := static.New(d, passes.Tiers{T: []int{8}, S: []int{16}, R: []int{8}})
			logits := func(o runtime.Options) []float32 {
				o.Device = device
				res, err := opened(t, dir, o).Run(t.Context(), b)
				require.NoError(t, err)
				return res.Logits
			}
			bound := logits(runtime.Options{})
			require.Zero(t, d.fixed)
			require.Equal(t, bound, logits(runtime.Options{Inside: true}))
			require.Positive(t, d.fixed)
			layers := d.fixed
			logits(runtime.Options{Inside: true, Memory: 1 << 32})
			require.Equal(t, 2*layers, d.fixed, "a budget that holds all")
		})
	}
	d := &counting{Device: cpu(t)}
	device := static.New(d, passes.Tiers{T: []int{8}, S: []int{16}, R: []int{8}})
	m := opened(t, packed(t, "olmoe", "w8"), runtime.Options{Device: device, Inside: true, Memory: 1 << 20})
	require.Zero(t, d.fixed, "a budget that holds none")
	require.NoError(t, m.Close())
}

// counting counts the contexts of graphs with weights inside.
type counting struct {
	*qnn.Device
	fixed int
}

func (c *counting) Fix(ctx context.Context, gs []*ir.Graph, p lower.Packing, weights [][]lower.Buffer) ([]static.Executable, error) {
	c.fixed++
	return c.Device.Fix(ctx, gs, p, weights)
}
