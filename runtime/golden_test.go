package runtime_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/models/checkpoint"
	"estream/runtime"
)

// tolerance of logits and hidden states: f32 against f32 in another order of
// sums; the goldens are within 2.8e-6 of f64.
const tolerance = 1e-4

// A golden is prompts and what another implementation (PyTorch) made of them.
type golden struct {
	t testing.TB
	checkpoint.Checkpoint
}

func openGolden(t testing.TB) golden {
	t.Helper()
	c, err := checkpoint.Open(filepath.Join(tiny, "goldens.safetensors"), checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return golden{t, c}
}

// values returns a tensor's elements and its shape.
func (g golden) values(name string) ([]float32, []int) {
	g.t.Helper()
	i := slices.IndexFunc(g.Tensors(), func(x checkpoint.Tensor) bool { return x.Name == name })
	require.GreaterOrEqual(g.t, i, 0, "no golden %s", name)
	shape, n := g.Tensors()[i].Shape, 1
	for _, d := range shape {
		n *= d
	}
	out := make([]float32, n)
	require.NoError(g.t, g.Read(g.t.Context(), name, 0, shape[0], out))
	return out, shape
}

// ints returns the rows of a tensor of integers.
func (g golden) ints(name string) [][]int32 {
	g.t.Helper()
	values, shape := g.values(name)
	var rows [][]int32
	for row := range slices.Chunk(values, shape[len(shape)-1]) {
		var r []int32
		for _, x := range row {
			r = append(r, int32(x))
		}
		rows = append(rows, r)
	}
	return rows
}

// ragged are prompts of lengths 5, 12 and 3.
func (g golden) ragged() [][]int32 {
	g.t.Helper()
	return [][]int32{g.ints("ragged0.input_ids")[0], g.ints("ragged1.input_ids")[0], g.ints("ragged2.input_ids")[0]}
}

// requireGolden compares values with a golden.
func (g golden) requireGolden(name string, got []float32) {
	g.t.Helper()
	want, _ := g.values(name)
	require.Len(g.t, got, len(want), name)
	worst, at := -1.0, 0
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if d > worst || math.IsNaN(d) {
			worst, at = d, i
		}
		if math.IsNaN(d) {
			break
		}
	}
	if !(worst <= tolerance) {
		g.t.Errorf("%s: element %d is %v, want %v within %v (another order of f32 sums)", name, at, got[at], want[at], tolerance)
	}
}

func TestGoldenLogits(t *testing.T) {
	g := openGolden(t)
	m := open(t, packed(t, tiny, "f32"), runtime.Options{})
	for _, prompt := range []string{"p1", "p7", "p33", "batch", "ragged0", "ragged1", "ragged2"} {
		res := run(t, m, runtime.Batch{Prompts: g.ints(prompt + ".input_ids"), Logits: runtime.All})
		g.requireGolden(prompt+".logits", res.Logits)
	}
}

// TestGoldenGreedy generates without a cache: each token is a run of its own.
func TestGoldenGreedy(t *testing.T) {
	g := openGolden(t)
	m := open(t, packed(t, tiny, "f32"), runtime.Options{})
	prompt := g.ints("p7.input_ids")[0]
	var got []int32
	for range 12 {
		logits := run(t, m, runtime.Batch{Prompts: [][]int32{append(slices.Clone(prompt), got...)}}).Logits
		got = append(got, int32(slices.Index(logits, slices.Max(logits))))
	}
	require.Equal(t, g.ints("p7.greedy12")[0], got)
}

// tapNames are the goldens' names of values, by layer where they end in a dot,
// and those of this module.
var tapNames = map[string]string{
	"embed": "embed", "mixer_out.": "attn.o", "ffn_out.": "experts", "layer_out.": "y", "final_norm": "final.norm",
	"router_logits.": "ffn.router", "topk_weights.": "experts.weights", "topk_ids.": "experts.ids",
}

func TestGoldenHiddenStates(t *testing.T) {
	g := openGolden(t)
	dir := packed(t, tiny, "f32")
	for _, chunk := range []int{0, 16, 33} {
		floats, ids := map[string][]float32{}, map[string][]int32{}
		o := runtime.Options{Chunk: chunk, Tap: func(x runtime.Tap) {
			key := fmt.Sprint(x.Name, " of ", x.Layer)
			if x.Name == "experts.ids" {
				ids[key] = append(ids[key], lower.I32(x.Buffer.Bytes())...)
			} else {
				floats[key] = append(floats[key], lower.F32(x.Buffer.Bytes())...)
			}
		}}
		for _, ours := range tapNames {
			o.Taps = append(o.Taps, ours)
		}
		logitsOf(t, open(t, dir, o), g.ints("p33.input_ids")[0])
		g.requireGolden("p33.embed", floats["embed of -1"])
		g.requireGolden("p33.final_norm", floats["final.norm of 3"])
		for l := range 3 {
			require.Equal(t, slices.Concat(g.ints(fmt.Sprint("p33.topk_ids.", l))...), ids[fmt.Sprint("experts.ids of ", l)], "expert ids of layer %d", l)
			for theirs, ours := range tapNames {
				if strings.HasSuffix(theirs, ".") && ours != "experts.ids" {
					g.requireGolden(fmt.Sprint("p33.", theirs, l), floats[fmt.Sprint(ours, " of ", l)])
				}
			}
		}
	}
}

// TestGoldenBF16 packs the checkpoint that holds its weights in bf16.
func TestGoldenBF16(t *testing.T) {
	g := openGolden(t)
	dir := t.TempDir()
	copyFile(t, filepath.Join(tiny, "model.bf16.safetensors"), filepath.Join(dir, "model.safetensors"))
	copyFile(t, filepath.Join(tiny, "config.json"), filepath.Join(dir, "config.json"))
	for _, encoding := range []string{"bf16", "exact"} {
		m := open(t, packed(t, dir, encoding), runtime.Options{})
		g.requireGolden("p33.logits_bf16_weights", logitsOf(t, m, g.ints("p33.input_ids")[0]))
	}
}
