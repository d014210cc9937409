package runtime_test

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/models/checkpoint"
	"estream/runtime"
)

// tolerance of logits and hidden states: f32 against f32 in another order of
// sums; the goldens are within 1.5e-5 of f64.
const tolerance = 1e-4

// families are tiny checkpoints, one of each family, with golden values.
var families = []string{"../testdata/deepseek", "../testdata/lfm2", "../testdata/mixtral", tiny, "../testdata/qwen3"}

// eachFamily runs a test with the goldens of each family.
func eachFamily(t *testing.T, test func(t *testing.T, from string, g golden)) {
	t.Helper()
	for _, from := range families {
		t.Run(filepath.Base(from), func(t *testing.T) { test(t, from, openGoldenOf(t, from)) })
	}
}

// A golden is prompts and what another implementation (PyTorch) made of them.
type golden struct {
	t testing.TB
	checkpoint.Checkpoint
}

func openGolden(t testing.TB) golden { return openGoldenOf(t, tiny) }

func openGoldenOf(t testing.TB, from string) golden {
	t.Helper()
	c, err := checkpoint.Open(filepath.Join(from, "goldens.safetensors"), checkpoint.Options{}, checkpoint.SafeTensors)
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
	eachFamily(t, func(t *testing.T, from string, g golden) {
		m := open(t, packed(t, from, "f32"), runtime.Options{})
		for _, prompt := range []string{"p1", "p7", "p33", "batch", "ragged0", "ragged1", "ragged2"} {
			res := run(t, m, runtime.Batch{Prompts: g.ints(prompt + ".input_ids"), Logits: runtime.All})
			g.requireGolden(prompt+".logits", res.Logits)
		}
	})
}

// TestGoldenGreedy generates without a cache: each token is a run of its own.
func TestGoldenGreedy(t *testing.T) {
	eachFamily(t, func(t *testing.T, from string, g golden) {
		m := open(t, packed(t, from, "f32"), runtime.Options{})
		prompt := g.ints("p7.input_ids")[0]
		var got []int32
		for range 12 {
			logits := run(t, m, runtime.Batch{Prompts: [][]int32{append(slices.Clone(prompt), got...)}}).Logits
			got = append(got, int32(slices.Index(logits, slices.Max(logits))))
		}
		require.Equal(t, g.ints("p7.greedy12")[0], got)
	})
}

// tapNames are the names of values, and of the goldens that they are or that they
// are terms of: a layer's where they end in a dot.
var tapNames = map[string]string{
	"embed": "embed", "attn.o": "mixer_out.", "conv.out": "mixer_out.", "experts": "ffn_out.", "shared.down": "ffn_out.", "ffn.down": "ffn_out.",
	"y": "layer_out.", "final.norm": "final_norm", "ffn.router": "router_logits.", "experts.weights": "topk_weights.", "experts.ids": "topk_ids.",
}

// A tapped is the values of a run under the goldens' names.
type tapped struct {
	floats map[string][]float32
	ids    map[string][]int32
}

func (x tapped) tap(t runtime.Tap) {
	name := tapNames[t.Name]
	if !strings.HasSuffix(name, ".") { // chunks of rows
		x.floats[name] = append(x.floats[name], lower.F32(t.Buffer.Bytes())...)
		return
	}
	name += strconv.Itoa(t.Layer)
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
func tapsOf(t *testing.T, dir string) []string {
	var names []string
	for _, g := range open(t, dir, runtime.Options{}).Module().Graphs {
		for _, v := range g.Values {
			if tapNames[v.Name] != "" {
				names = append(names, v.Name)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func TestGoldenHiddenStates(t *testing.T) {
	eachFamily(t, func(t *testing.T, from string, g golden) {
		dir := packed(t, from, "f32")
		taps := tapsOf(t, dir)
		for _, chunk := range []int{0, 16, 33} {
			x := tapped{map[string][]float32{}, map[string][]int32{}}
			logitsOf(t, open(t, dir, runtime.Options{Chunk: chunk, Taps: taps, Tap: x.tap}), g.ints("p33.input_ids")[0])
			compared := 0
			for _, tensor := range g.Tensors() {
				name, ok := strings.CutPrefix(tensor.Name, "p33.")
				switch {
				case !ok || name == "input_ids" || strings.HasPrefix(name, "logits"):
					continue
				case strings.HasPrefix(name, "topk_ids."):
					require.Equal(t, slices.Concat(g.ints(tensor.Name)...), x.ids[name], name)
				default:
					g.requireGolden(tensor.Name, x.floats[name])
				}
				compared++
			}
			require.Equal(t, len(x.floats)+len(x.ids), compared, "values tapped and compared")
		}
	})
}

// TestGoldenBF16 packs the checkpoint that holds its weights in bf16.
func TestGoldenBF16(t *testing.T) {
	eachFamily(t, func(t *testing.T, from string, g golden) {
		dir := t.TempDir()
		copyFile(t, filepath.Join(from, "model.bf16.safetensors"), filepath.Join(dir, "model.safetensors"))
		copyFile(t, filepath.Join(from, "config.json"), filepath.Join(dir, "config.json"))
		for _, encoding := range []string{"bf16", "exact"} {
			m := open(t, packed(t, dir, encoding), runtime.Options{})
			g.requireGolden("p33.logits_bf16_weights", logitsOf(t, m, g.ints("p33.input_ids")[0]))
		}
	})
}

// TestShards packs a checkpoint of two files with an index as one of one file.
func TestShards(t *testing.T) {
	b := runtime.Batch{Prompts: openGoldenOf(t, "../testdata/qwen3").ragged(), Logits: runtime.All}
	one := run(t, open(t, packed(t, "../testdata/qwen3", "w8"), runtime.Options{}), b)
	two := run(t, open(t, packed(t, "../testdata/qwen3-2shard", "w8"), runtime.Options{}), b)
	requireBits(t, one.Logits, two.Logits, "two shards")
}
