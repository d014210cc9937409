package all_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/models"
	"estream/models/all"
	"estream/models/checkpoint"
)

// tolerance is for f32 sums in another order; f32 against f64 differs by 1.5e-5 at most.
const tolerance = 1e-4

// tiny are folders of testdata: a checkpoint of each family and what PyTorch made of it.
var tiny = []string{"deepseek", "lfm2", "mixtral", "olmoe", "qwen3"}

// The tiny checkpoints, opened, built and interpreted, give the reference's logits,
// hidden states and experts.
func TestGoldens(t *testing.T) {
	field := map[string]string{"deepseek": "U18 ", "olmoe": "U19 ", "qwen3": "U19 ", "lfm2": "U20 "}
	for _, name := range tiny {
		t.Run(field[name]+name, func(t *testing.T) {
			folder := filepath.Join("../../testdata", name)
			golden := openFile(t, filepath.Join(folder, "goldens.safetensors"))
			m, err := models.Open(openFile(t, folder), all.Families())
			require.NoError(t, err)
			require.Empty(t, m.Notes)
			for _, c := range []struct{ checkpoint, prompt, logits string }{
				{folder, "p1", "p1.logits"},
				{folder, "p33", "p33.logits"},
				{filepath.Join(folder, "model.bf16.safetensors"), "p33", "p33.logits_bf16_weights"},
			} {
				got := run(t, openFile(t, c.checkpoint), floats(t, golden, c.prompt+".input_ids"))
				compare(t, c.checkpoint+" "+c.logits, got["logits"], floats(t, golden, c.logits))
				if c.logits != "p33.logits" {
					continue
				}
				for _, x := range golden.Tensors() {
					if name, ok := strings.CutPrefix(x.Name, "p33."); ok && strings.Contains(name, "_") && !strings.HasPrefix(name, "logits") && name != "input_ids" {
						compare(t, x.Name, got[name], floats(t, golden, x.Name))
					}
				}
			}
		})
	}
}

// compare compares values; ids of experts, which are whole numbers, exactly.
func compare(t testing.TB, what string, got, want []float32) {
	t.Helper()
	require.Len(t, got, len(want), what)
	within := tolerance
	if strings.Contains(what, "topk_ids") {
		within = 0
	}
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= within) {
			t.Fatalf("%s, element %d: got %v, want %v within %v", what, i, got[i], want[i], within)
		}
	}
}

func openFile(t testing.TB, path string) checkpoint.Checkpoint {
	t.Helper()
	ck, err := checkpoint.Open(path, checkpoint.Options{}, all.Formats()...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ck.Close()) })
	return ck
}

// floats reads a tensor.
func floats(t testing.TB, ck checkpoint.Checkpoint, name string) []float32 {
	t.Helper()
	i := slices.IndexFunc(ck.Tensors(), func(x checkpoint.Tensor) bool { return x.Name == name })
	require.GreaterOrEqual(t, i, 0, "no golden %s", name)
	shape, n := ck.Tensors()[i].Shape, 1
	for _, d := range shape {
		n *= d
	}
	data := make([]float32, n)
	require.NoError(t, ck.Read(t.Context(), name, 0, shape[0], data))
	return data
}

// run returns the values of a model for one sequence that begins at position 0,
// under the goldens' names.
func run(t testing.TB, ck checkpoint.Checkpoint, ids []float32) map[string][]float32 {
	t.Helper()
	m, err := models.Open(ck, all.Families())
	require.NoError(t, err)
	module, err := m.Module()
	require.NoError(t, err)
	n := len(ids)
	in := map[string]*interp.Tensor{
		"ids": interp.Ints(make([]int32, n), n), "pos": interp.Ints(make([]int32, n), n),
		"seq": interp.Ints([]int32{0, int32(n)}, 2), "past": interp.Ints([]int32{0}, 1), "base": interp.Ints([]int32{0}, 1), "parent": interp.Ints([]int32{-1}, 1),
	}
	for i, id := range ids {
		in["ids"].I[i], in["pos"].I[i] = int32(id), int32(i)
	}
	values := map[string][]float32{}
	in["x"] = eval(t, m, module.Graph("embed"), 0, in, nil)
	for l, name := range module.Layers {
		g := module.Graph(name)
		state, err := ir.Dims{"S": n, "B": 1}.Bind(g.Value("state").Type)
		require.NoError(t, err)
		in["state"] = interp.New(state)
		in["x"] = eval(t, m, g, l, in, func(of string, v *interp.Tensor) { keep(values, l, of, v) })
	}
	values["logits"] = eval(t, m, module.Graph("head"), 0, in, func(of string, v *interp.Tensor) {
		if of == "final.norm" {
			values["final_norm"] = v.F
		}
	}).F
	return values
}

// goldenNames are the goldens' names of layers' values, or of sums of some.
var goldenNames = map[string]string{
	"attn.o": "mixer_out", "conv.out": "mixer_out", "ffn.router": "router_logits", "experts.weights": "topk_weights", "experts.ids": "topk_ids",
	"experts": "ffn_out", "shared.down": "ffn_out", "ffn.down": "ffn_out", "y": "layer_out",
}

// keep notes a value of a layer under the golden that it is, or a term of.
func keep(values map[string][]float32, layer int, name string, v *interp.Tensor) {
	if goldenNames[name] == "" {
		return
	}
	elements := slices.Clone(v.F)
	for _, id := range v.I {
		elements = append(elements, float32(id))
	}
	golden := fmt.Sprint(goldenNames[name], ".", layer)
	for i, x := range values[golden] {
		elements[i] += x
	}
	values[golden] = elements
}

// eval evaluates a graph with the model's weights and returns its first output.
func eval(t testing.TB, m *models.Model, g *ir.Graph, layer int, in map[string]*interp.Tensor, tap func(name string, v *interp.Tensor)) *interp.Tensor {
	t.Helper()
	load := func(to map[string]*interp.Tensor, weights []*ir.Value, expert int) map[string]*interp.Tensor {
		for _, w := range weights {
			to[w.Name] = interp.New(w.Type)
			require.NoError(t, m.Read(context.Background(), w.Name, layer, expert, 0, m.Shape(w.Name)[0], to[w.Name].F))
		}
		return to
	}
	out, err := interp.Eval(nil, g, load(in, g.Weights(), 0), interp.Options{
		Experts: func(v *ir.Value, expert int) (map[string]*interp.Tensor, error) {
			if expert >= m.Config.NumExperts {
				return nil, fmt.Errorf("no expert %d", expert)
			}
			return load(map[string]*interp.Tensor{}, v.Body.Weights(), expert), nil
		},
		Tap: func(of *ir.Graph, v *ir.Value, x *interp.Tensor) {
			if tap != nil && of == g && v.Name != "" && v.Op != ir.Input && v.Op != ir.Weight {
				tap(v.Name, x)
			}
		},
	})
	require.NoError(t, err)
	return out[0]
}
