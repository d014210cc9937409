package olmoe_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/models"
	"estream/models/checkpoint"
	"estream/models/olmoe"
)

// tolerance is for f32 sums in another order; f32 against f64 differs by 2.8e-6.
const tolerance = 1e-4

func openFile(t testing.TB, path string) checkpoint.Checkpoint {
	t.Helper()
	ck, err := checkpoint.Open(path, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ck.Close()) })
	return ck
}

// The tiny checkpoint, opened, built and interpreted, gives the reference's logits.
func TestGoldens(t *testing.T) {
	golden := openFile(t, tiny+"goldens.safetensors")
	for _, c := range []struct{ checkpoint, prompt, logits string }{
		{tiny, "p1", "p1.logits"},
		{tiny, "p33", "p33.logits"},
		{tiny + "model.bf16.safetensors", "p33", "p33.logits_bf16_weights"},
	} {
		ids := floats(t, golden, c.prompt+".input_ids")
		got := run(t, openFile(t, c.checkpoint), ids)
		for i, want := range floats(t, golden, c.logits) {
			if math.Abs(float64(got[i]-want)) > tolerance {
				t.Fatalf("%s %s, element %d: got %v, want %v within %v", c.checkpoint, c.logits, i, got[i], want, tolerance)
			}
		}
	}
}

// floats reads a tensor whose first extent is 1.
func floats(t testing.TB, ck checkpoint.Checkpoint, name string) []float32 {
	t.Helper()
	for _, x := range ck.Tensors() {
		if x.Name != name {
			continue
		}
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		data := make([]float32, n)
		require.NoError(t, ck.Read(context.Background(), name, 0, x.Shape[0], data))
		return data
	}
	t.Fatalf("no golden %s", name)
	return nil
}

// run returns the logits of one sequence that begins at position 0.
func run(t testing.TB, ck checkpoint.Checkpoint, ids []float32) []float32 {
	t.Helper()
	m, err := models.Open(ck, []models.Family{olmoe.Family})
	require.NoError(t, err)
	require.Empty(t, m.Notes)
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
	in["x"] = eval(t, m, module.Graph("embed"), 0, in)
	part := ir.Tensor(ir.F32, ir.N(n), ir.N(m.Config.NumKeyValueHeads), ir.N(m.Config.HeadDim))
	for l, name := range module.Layers {
		in["state"] = interp.New(ir.StateOf(ir.Grow, part, part))
		in["x"] = eval(t, m, module.Graph(name), l, in)
	}
	return eval(t, m, module.Graph("head"), 0, in).F
}

// eval evaluates a graph with the model's weights and returns its first output.
func eval(t testing.TB, m *models.Model, g *ir.Graph, layer int, in map[string]*interp.Tensor) *interp.Tensor {
	t.Helper()
	load := func(to map[string]*interp.Tensor, weights []*ir.Value, expert int) map[string]*interp.Tensor {
		for _, w := range weights {
			to[w.Name] = interp.New(w.Type)
			require.NoError(t, m.Read(context.Background(), w.Name, layer, expert, 0, m.Shape(w.Name)[0], to[w.Name].F))
		}
		return to
	}
	experts := func(v *ir.Value, expert int) (map[string]*interp.Tensor, error) {
		if expert >= m.Config.NumExperts {
			return nil, fmt.Errorf("no expert %d", expert)
		}
		return load(map[string]*interp.Tensor{}, v.Body.Weights(), expert), nil
	}
	out, err := interp.Eval(nil, g, load(in, g.Weights(), 0), interp.Options{Experts: experts})
	require.NoError(t, err)
	return out[0]
}
