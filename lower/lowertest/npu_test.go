package lowertest

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower/static"
	"estream/passes"
)

// tiers are small ones, so that calls of the suite are cut, and ones that hold
// every call.
func tiers() []passes.Tiers {
	return []passes.Tiers{
		{T: []int{1, 4}, S: []int{4, 16, 160}, R: []int{2, 4}},
		{T: []int{32}, S: []int{160}, R: []int{16}},
	}
}

// onNPU returns what RunAll needs to run on b, the reference running the rest.
func onNPU(b *static.Backend) Options {
	return Options{
		Tiered:  true,
		Refuses: []string{"append", "embed", "experts", "gather", "gather_rows", "matmul", "onehot", "quantize", "scatter_add", "topk"},
		Half:    Tolerance{1.0 / 100, "its own keys and values are not rounded to 16 bits when it attends to them"},
		Prepare: func(m *ir.Module) error { return passes.Run(m, passes.Open(b.Target(&reference{})), nil) },
	}
}

func TestNPU(t *testing.T) {
	for _, tiers := range tiers() {
		t.Run(fmt.Sprint(tiers), func(t *testing.T) {
			t.Parallel()
			d := NewNPU()
			b := static.New(d, tiers)
			RunAll(t, b, onNPU(b))
			require.Zero(t, d.Live(), "memories that are not freed")
		})
	}
}

// TestWholeLayer runs a layer on the device, routing apart, and compares with the
// layer as its family built it.
func TestWholeLayer(t *testing.T) {
	for _, tiers := range tiers() {
		d := NewNPU()
		b := static.New(d, tiers)
		p := b.Packings()[0]
		for _, c := range layerCases() {
			layer, err := c.graph("layer0")
			require.NoError(t, err)
			m, err := c.module(p)
			require.NoError(t, err)
			m, err = prepared(b, onNPU(b), m)
			require.NoError(t, err)
			for _, g := range []string{"c0.body", "c0.tail", "expert0"} {
				require.Equal(t, "npu", m.Graph(g).On, g)
			}
			require.Empty(t, m.Graph("c0.route").On)
			x, err := b.Compile(context.Background(), m, p)
			require.NoError(t, err)
			w := walker{m: m, packing: p, on: "npu", compiled: x, tol: Tolerance{1e-5, "float32"}.or(onNPU(b).Half)}
			l, err := w.newLayer(0, newSource(c.name))
			require.NoError(t, err)
			in := walkSteps()[0]
			in["x"] = newSource("x").tensor(f32(n(9), n(layerWidth)))
			got, want := maps.Clone(in), maps.Clone(in)
			maps.Copy(in, l.weights)
			in["state"] = clone(l.got)
			ran := d.Runs()
			require.NoError(t, w.layer("c0", l, got, want))
			require.Greater(t, d.Runs(), ran)
			out, err := interp.Eval(nil, layer, in, interp.Options{Experts: func(_ *ir.Value, e int) (map[string]*interp.Tensor, error) {
				return l.experts[e], nil
			}})
			require.NoError(t, err)
			require.NoError(t, compare("y", got["y"], out[0], w.tol))
			require.NoError(t, compare("state", got["state.next"], out[1], w.tol))
			require.NoError(t, x.Close())
		}
		require.Zero(t, d.Live(), "memories that are not freed")
	}
}
