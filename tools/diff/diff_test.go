package diff

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
	"estream/models/all"
	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/pack"
	"estream/tools/weights"
)

func packed(t testing.TB, from, encoding string) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), encoding)
	_, err = pack.Run(t.Context(), "../../testdata/"+from, dir, pack.Options{Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0], Families: all.Families(), Formats: all.Formats()})
	require.NoError(t, err)
	return dir
}

// side opens a package as Run takes it.
func side(t testing.TB, dir string) Side {
	t.Helper()
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	ops, err := ir.Core()
	require.NoError(t, err)
	set, err := weights.OpenPackage(dir, ops, host.New(host.Options{}).Packings())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	return Side{Path: dir, Kind: "package", Config: pkg.Manifest.Config, Package: pkg.Manifest, Module: set.Module, Weights: set}
}

func opener(t testing.TB, dir string, tokens ...int32) func(context.Context) (*Ready, error) {
	return func(ctx context.Context) (*Ready, error) {
		m, err := runtime.Open(ctx, dir, runtime.Options{Host: host.New(host.Options{Threads: 1})})
		return &Ready{m, tokens}, err
	}
}

var everything = Options{Config: true, Graphs: true, Weights: true}

func TestPackages(t *testing.T) {
	w8, w4 := packed(t, "olmoe", "w8"), packed(t, "olmoe", "w4")
	o := everything
	o.Logits = &Prompt{opener(t, w8, 1, 2, 3), opener(t, w8, 1, 2, 3)}
	r, err := Run(t.Context(), side(t, w8), side(t, w8), o)
	require.NoError(t, err)
	require.True(t, r.Same)
	require.Equal(t, []any{102, 3, 3, 0.0}, []any{r.Weights.Compared, r.Logits.Positions, r.Logits.Agree, r.Logits.Max})

	var done, total int64
	o.Progress = func(d, n int64) { done, total = d, n }
	o.Logits.B = opener(t, w4, 1, 2, 3)
	r, err = Run(t.Context(), side(t, w8), side(t, w4), o)
	require.NoError(t, err)
	require.False(t, r.Same)
	require.Equal(t, total, done)
	require.Equal(t, []Graph{{Name: "expert0", Values: []Value{
		{"expert.gate.weight = weight : w8[32,64]", "expert.gate.weight = weight : w4g64[32,64]"},
		{"expert.up.weight = weight : w8[32,64]", "expert.up.weight = weight : w4g64[32,64]"},
		{"expert.down.weight = weight : w8[64,32]", "expert.down.weight = weight : w4g32[64,32]"},
	}}}, r.Graphs)
	require.Empty(t, r.Config)
	require.Equal(t, Field{"policy encoding", "w8", "w4"}, r.Package[0])
	require.Len(t, r.Weights.Differ, 72, "the experts")
	for _, d := range r.Weights.Differ {
		require.True(t, d.Relative() > 0.05 && d.Relative() < 0.15, "%s: %v", d.ID, d.Relative())
	}
	require.Greater(t, r.Logits.Max, 0.01)
	require.True(t, r.Logits.MeanKL > 0 && r.Logits.MeanKL <= r.Logits.MostKL, "%+v", r.Logits)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), `"snr_db":2`)

	// a tolerance lets small differences pass, and tells of them
	o = Options{Weights: true, Tolerance: 0.5, Workers: 1}
	r, err = Run(t.Context(), side(t, w8), side(t, w4), o)
	require.NoError(t, err)
	require.True(t, r.Same)
	require.Equal(t, 72, r.Weights.Within)
}

// Prompts that are other tokens, and vocabularies that differ, are not compared.
func TestLogitsOfOther(t *testing.T) {
	olmoe, qwen := packed(t, "olmoe", "w8"), packed(t, "qwen3", "w8")
	r, err := Run(t.Context(), Side{}, Side{}, Options{Logits: &Prompt{opener(t, olmoe, 1, 2), opener(t, olmoe, 1, 3)}})
	require.NoError(t, err)
	require.False(t, r.Same)
	require.Contains(t, r.Logits.Why, "other tokens")
	r, err = Run(t.Context(), Side{}, Side{}, Options{Logits: &Prompt{opener(t, olmoe, 1, 2), opener(t, qwen, 1, 2)}})
	require.NoError(t, err)
	require.Equal(t, "the vocabularies have 160 and 112 tokens", r.Logits.Why)
	broken := errors.New("broken")
	_, err = Run(t.Context(), Side{}, Side{}, Options{Logits: &Prompt{opener(t, olmoe, 1), func(context.Context) (*Ready, error) { return nil, broken }}})
	require.ErrorIs(t, err, broken)
}

// Where logits cannot wait, the error says where that was, and what to do.
func TestLogitsNowhere(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, room(f, 0))
	require.Regexp(t, `^logits wait in a temporary file: 4611686018427387904 bytes are needed and \d+ are free in `+filepath.Dir(f.Name())+`: make room there, or set TMPDIR to another folder$`, room(f, 1<<62))

	t.Setenv("TMPDIR", f.Name())
	_, err = Run(t.Context(), Side{}, Side{}, Options{Logits: &Prompt{}})
	require.ErrorContains(t, err, "logits wait in a temporary file: set TMPDIR to a folder that can be written to: open "+f.Name())
}

func TestConfig(t *testing.T) {
	sides := func(a, b string) (Side, Side) {
		return Side{Path: "x", Kind: "checkpoint", Config: []byte(a)}, Side{Path: "y", Kind: "checkpoint", Config: []byte(b)}
	}
	for _, c := range []struct {
		a, b string
		want []Field
	}{
		{`{"k":1,"eps":1e-05}`, `{"eps":0.00001,"k":1,"none":null}`, []Field{}},
		{`{"rope":{"factor":4,"type":"yarn"},"l":[1,2]}`, `{"rope":{"factor":8,"type":"yarn"},"l":[1,2,3]}`, []Field{{"l", "[1,2]", "[1,2,3]"}, {"rope.factor", "4", "8"}}},
		{`{"big":9007199254740993}`, `{"big":9007199254740992}`, []Field{{"big", "9007199254740993", "9007199254740992"}}},
		{`{"a":"x"}`, `{"b":true}`, []Field{{"a", `"x"`, ""}, {"b", "", "true"}}},
	} {
		a, b := sides(c.a, c.b)
		r, err := Run(t.Context(), a, b, everything)
		require.NoError(t, err)
		require.Equal(t, c.want, r.Config, "%s and %s", c.a, c.b)
		require.Equal(t, len(c.want) == 0, r.Same)
		require.Equal(t, []Skip{{"graphs", "x has none: it is a checkpoint"}, {"weights", "x has none: it is a checkpoint"}}, r.Skipped)
	}
	a, b := sides(`{`, `{}`)
	_, err := Run(t.Context(), a, b, everything)
	require.ErrorContains(t, err, "x: config.json: ")
}

func module(t testing.TB, text string) *ir.Module {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	return m
}

// Numbers, origins and places of values do not count; what they compute does.
func TestGraphs(t *testing.T) {
	const graph = "graph g\n  %1:x = input : f32[T,4]\n  %2:w = weight offset=0 : f32[4,4]\n  %3 = matmul %1 %2 : f32[T,4]\n  %4 = silu %3 : f32[T,4]\n  return %4\n"
	for _, c := range []struct {
		name, b string
		want    []Graph
	}{
		{"renumbered", "graph g\n  %11:x = input : f32[T,4] from split/%3\n  %7:w = weight offset=64 : f32[4,4]\n  %3 = matmul %11 %7 : f32[T,4]\n  %8 = silu %3 : f32[T,4]\n  return %8\n", []Graph{}},
		{"attribute", "graph g\n  %1:x = input : f32[T,4]\n  %2:w = weight offset=0 : f32[4,4]\n  %3 = matmul %1 %2 : f32[T,4]\n  %4 = sigmoid %3 : f32[T,4]\n  return %4\n",
			[]Graph{{Name: "g", Values: []Value{{A: "(silu 1) = silu (matmul 1) : f32[T,4]"}, {"return (silu 1)", "return (sigmoid 1)"}, {B: "(sigmoid 1) = sigmoid (matmul 1) : f32[T,4]"}}}}},
		{"type", "graph g\n  %1:x = input : f32[T,4]\n  %2:w = weight offset=0 : w8[4,4]\n  %3 = matmul %1 %2 : f32[T,4]\n  %4 = silu %3 : f32[T,4]\n  return %4\n",
			[]Graph{{Name: "g", Values: []Value{{"w = weight : f32[4,4]", "w = weight : w8[4,4]"}}}}},
		{"more", graph + "\ngraph h\n  %1:x = input : f32[T]\n  return %1\n", []Graph{{Name: "h", Only: "b"}}},
		{"device", "graph g on npu\n" + graph[len("graph g\n"):], []Graph{{Name: "g", Values: []Value{{B: "on npu"}}}}},
	} {
		require.Equal(t, c.want, modules(module(t, graph), module(t, c.b)), c.name)
	}
	r, err := Run(t.Context(), Side{Path: "a", Kind: "checkpoint", Module: module(t, graph)}, Side{Path: "b", Kind: "package", Module: module(t, graph)}, Options{Graphs: true})
	require.NoError(t, err)
	require.Len(t, r.Skipped, 1)
}

// Graphs of every package differ in nothing from themselves, bodies too.
func TestGraphsOfFamilies(t *testing.T) {
	for _, family := range []string{"olmoe", "mixtral", "qwen3", "lfm2", "deepseek"} {
		m := side(t, packed(t, family, "w8")).Module
		require.Empty(t, modules(m, m), family)
	}
}

// tensor is one of given values.
func tensor(name string, shape []int, v ...float32) weights.Tensor {
	x := weights.Tensor{ID: weights.ID{Layer: 0, Expert: -1, Name: name}, Type: "f32", Shape: shape}
	x.Open = func() weights.Reader {
		return func(_ context.Context, row int, dst []float32) error {
			copy(dst, v[row*x.Width():])
			return nil
		}
	}
	return x
}

func TestWeights(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	a := &weights.Set{Tensors: []weights.Tensor{
		tensor("far", []int{2, 2}, 1, -8, 2, 3), tensor("nan", []int{3}, nan, nan, inf), tensor("onlyA", []int{1}, 1), tensor("same", []int{2}, nan, inf), tensor("shape", []int{1, 2}, 1, 2), tensor("zero", []int{1}, 0),
	}}
	b := &weights.Set{Tensors: []weights.Tensor{
		tensor("far", []int{2, 2}, 1, -8, 2.5, 1), tensor("nan", []int{3}, 1, nan, -inf), tensor("onlyB", []int{1}, 1), tensor("same", []int{2}, nan, inf), tensor("shape", []int{2, 1}, 1, 2), tensor("zero", []int{1}, 1),
	}}
	r, err := Run(t.Context(), Side{Weights: a}, Side{Weights: b}, Options{Weights: true, Tolerance: 0.1})
	require.NoError(t, err)
	id := func(name string) weights.ID { return weights.ID{Layer: 0, Expert: -1, Name: name} }
	require.Equal(t, []weights.ID{id("onlyA")}, r.Weights.OnlyA)
	require.Equal(t, []weights.ID{id("onlyB")}, r.Weights.OnlyB)
	got := map[string]TensorDelta{}
	for _, d := range r.Weights.Differ {
		got[d.Name] = d
	}
	require.Len(t, got, 4)
	far := got["far"]
	require.Equal(t, []any{int64(2), 2.0, []int{1, 1}, float32(3), float32(1), 8.0}, []any{far.Apart, far.Max, far.At, far.A, far.B, far.Largest})
	require.InDelta(t, math.Sqrt(4.25/78), far.Relative(), 1e-12)
	require.Equal(t, []int64{2, 2}, []int64{got["nan"].Apart, got["nan"].Odd})
	require.True(t, got["shape"].Reshaped)
	require.True(t, math.IsInf(got["zero"].Relative(), 1))
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), `"relative":null`)

	// the tolerance is of a tensor's largest magnitude: 2 of 8
	r, err = Run(t.Context(), Side{Weights: a}, Side{Weights: b}, Options{Weights: true, Tolerance: 0.25})
	require.NoError(t, err)
	require.Equal(t, []int{3, 1}, []int{len(r.Weights.Differ), r.Weights.Within})

	// of unlike naming nothing can be said
	a.Unnamed = errors.New("no family")
	r, err = Run(t.Context(), Side{Path: "a", Weights: a}, Side{Weights: b}, Options{Weights: true})
	require.NoError(t, err)
	require.Nil(t, r.Weights)
	require.Equal(t, []Skip{{"weights", "a has names that no family gives: no family"}}, r.Skipped)
}
