package qnn_test

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/qnn"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/passes"
	"estream/runtime"
	"estream/tools/pack"
)

// families are tiny checkpoints, and which of their graphs stand on the device: all
// but routes, the embedding and the head.
var (
	families = []string{"deepseek", "lfm2", "mixtral", "olmoe", "qwen3"}
	standing = map[string][]string{
		"deepseek": {"c0.body", "c1.body", "c1.side", "c1.experts", "c1.tail", "expert0"},
		"lfm2":     {"c0.body", "c1.body", "c2.body", "c2.experts", "c2.tail", "c3.body", "c3.experts", "c3.tail", "expert0"},
		"mixtral":  {"c0.body", "c0.experts", "c0.tail", "expert0"},
		"olmoe":    {"c0.body", "c0.experts", "c0.tail", "expert0"},
		"qwen3":    {"c0.body", "c0.experts", "c0.tail", "expert0"},
	}
	tiers = passes.Tiers{T: []int{16}, S: []int{16, 64}, R: []int{2, 8}}
)

// packed packs a family's tiny checkpoint for QNN.
func packed(t testing.TB, family, encoding string) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), family)
	_, err = pack.Run(t.Context(), filepath.Join("../../testdata", family), dir, pack.Options{
		Encoding: e, Backend: "qnn", Packing: qnn.Packing(),
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

func opened(t testing.TB, dir string, o runtime.Options) *runtime.Model {
	t.Helper()
	m, err := runtime.Open(t.Context(), dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// A golden is a family's prompts and what PyTorch made of them.
type golden struct {
	t testing.TB
	checkpoint.Checkpoint
}

func goldenOf(t testing.TB, family string) golden {
	t.Helper()
	c, err := checkpoint.Open(filepath.Join("../../testdata", family, "goldens.safetensors"), checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return golden{t, c}
}

// rows returns a tensor's rows.
func (g golden) rows(name string) [][]float32 {
	g.t.Helper()
	i := slices.IndexFunc(g.Tensors(), func(x checkpoint.Tensor) bool { return x.Name == name })
	require.GreaterOrEqual(g.t, i, 0, "no golden %s", name)
	shape, n := g.Tensors()[i].Shape, 1
	for _, d := range shape {
		n *= d
	}
	values := make([]float32, n)
	require.NoError(g.t, g.Read(g.t.Context(), name, 0, shape[0], values))
	return slices.Collect(slices.Chunk(values, shape[len(shape)-1]))
}

func (g golden) ids(name string) [][]int32 {
	g.t.Helper()
	var ids [][]int32
	for _, row := range g.rows(name) {
		var r []int32
		for _, x := range row {
			r = append(r, int32(x))
		}
		ids = append(ids, r)
	}
	return ids
}

// require compares values with a golden, within a share of its largest.
func (g golden) require(name string, got []float32, share float64) {
	g.t.Helper()
	want := slices.Concat(g.rows(name)...)
	require.Len(g.t, got, len(want), name)
	top, worst, at := 0.0, 0.0, 0
	for i := range want {
		top = max(top, math.Abs(float64(want[i])))
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= share*top) {
		g.t.Errorf("%s: element %d is %v, want %v within %v = %v of the largest", name, at, got[at], want[at], share*top, share)
	}
}

// tapNames are names of values, and of the goldens that they are or are terms of:
// a layer's where they end in a dot.
var tapNames = map[string]string{
	"attn.o": "mixer_out.", "conv.out": "mixer_out.", "experts": "ffn_out.", "shared.down": "ffn_out.", "ffn.down": "ffn_out.",
	"y": "layer_out.", "ffn.router": "router_logits.", "experts.weights": "topk_weights.", "experts.ids": "topk_ids.",
}

// A tapped is what a run computed, by the names of goldens.
type tapped struct {
	floats map[string][]float32
	ids    map[string][]int32
}

func (x tapped) tap(t runtime.Tap) {
	name := tapNames[t.Name] + strconv.Itoa(t.Layer)
	if t.Name == "experts.ids" {
		x.ids[name] = slices.Clone(lower.I32(t.Buffer.Bytes()))
		return
	}
	values := slices.Clone(lower.F32(t.Buffer.Bytes()))
	for i, v := range x.floats[name] {
		values[i] += v
	}
	x.floats[name] = values
}

// tapsOf are the names in tapNames of what a package computes.
func tapsOf(t testing.TB, dir string) []string {
	var names []string
	for _, g := range opened(t, dir, runtime.Options{Packings: []lower.Packing{qnn.Packing()}}).Module().Graphs {
		for _, v := range g.Values {
			if tapNames[v.Name] != "" {
				names = append(names, v.Name)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// onDevice returns which graphs of an opened package stand on the device.
func onDevice(m *runtime.Model, device string) []string {
	var on []string
	for _, g := range m.Module().Graphs {
		if g.On == device && !strings.Contains(g.Name, "@") {
			on = append(on, g.Name)
		}
	}
	return on
}

// TestCPUFamilies runs each family on the reference library, its experts paged,
// and compares logits, hidden states and the experts' ids with PyTorch's.
func TestCPUFamilies(t *testing.T) {
	const within = 1e-3
	device := static.New(cpu(t), tiers)
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			g, dir := goldenOf(t, family), packed(t, family, "f32")
			x := tapped{map[string][]float32{}, map[string][]int32{}}
			m := opened(t, dir, runtime.Options{Device: device, Banks: 2, Group: 1, Taps: tapsOf(t, dir), Tap: x.tap})
			require.Equal(t, standing[family], onDevice(m, "qnn-cpu"))
			for _, prompt := range []string{"batch", "p33"} {
				clear(x.floats)
				res, err := m.Run(t.Context(), runtime.Batch{Prompts: g.ids(prompt + ".input_ids"), Logits: runtime.All})
				require.NoError(t, err)
				g.require(prompt+".logits", res.Logits, within)
			}
			require.NotEmpty(t, x.ids)
			for name, got := range x.floats {
				g.require("p33."+name, got, within)
			}
			for name, got := range x.ids {
				require.Equal(t, slices.Concat(g.ids("p33."+name)...), got, name)
			}
		})
	}
}
