package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
)

func TestFind(t *testing.T) {
	other := toy()
	other.Name, other.Architectures = "other", []string{"OtherForCausalLM", "OtherModel"}
	f, err := models.Find([]models.Family{toy(), other}, "OtherModel")
	require.NoError(t, err)
	require.Equal(t, "other", f.Name)
	_, err = models.Find([]models.Family{toy(), other}, "NewForCausalLM")
	require.EqualError(t, err, `models: unknown architecture "NewForCausalLM"; known: OtherForCausalLM (other), OtherModel (other), ToyForCausalLM (toy); docs/adding-a-family.md tells how to add one`)
	other.Architectures = toy().Architectures
	_, err = models.Find([]models.Family{toy(), other}, "ToyForCausalLM")
	require.EqualError(t, err, `models: families toy and other both serve "ToyForCausalLM"`)
}

// A family that errs is told where.
func TestBuildErrors(t *testing.T) {
	type layer = func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value)
	for _, c := range []struct {
		name   string
		layer  layer
		want   string
		change func(f *models.Family)
	}{
		{"unknown weight", func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
			return b.Linear(x, "attn.z"), state
		}, `build_test.go:\d+: graph layer0: no weight "attn.z.weight" in the family's table`, nil},
		{"shapes", func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
			return b.Add(x, b.Linear(x, "attn.k")), state
		}, `build_test.go:\d+: graph layer0: add: extents differ: f32\[T,8\] and f32\[T,4\]`, nil},
		{"in a body", func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
			p := b.Linear(x, "ffn.router")
			ids := b.TopK(p, 2)
			return b.Experts(x, ids, b.Gather(p, ids), func(e *ir.Builder, x *ir.Value) *ir.Value { return e.Linear(x, "down") }), state
		}, `build_test.go:\d+: graph expert: matmul: inner extents differ: f32\[R,8\] and f32\[8,4\]`, nil},
		{"nothing", func(*ir.Builder, *models.Config, int, *ir.Value, ir.Step, *ir.Value) (y, next *ir.Value) {
			return nil, nil
		},
			`graph layer0: the family returns no value for y`, nil},
		{"itself", func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
			return x, b.Append(state, s, b.Reshape(b.Linear(x, "attn.k"), ir.T, ir.N(1), ir.N(4)), b.Reshape(b.Linear(x, "attn.v"), ir.T, ir.N(1), ir.N(4)))
		}, `graph layer0: the family returns x itself for y`, nil},
		{"width", func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
			return b.Linear(x, "attn.k"), nil
		}, `graph layer0: the family returns f32\[T,4\] for y, want f32\[T,8\]`, nil},
		{"no state", func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
			return b.SiLU(x), nil
		}, `graph layer0: the family returns no value for state.next`, nil},
		{"no experts", toyLayer, `weight expert.down.weight: extent F \(intermediate_size\) is 0`, func(f *models.Family) {
			f.Config = func(c *models.Config) { c.IntermediateSize = 0 }
		}},
		{"unknown extent", toyLayer, `weight attn.q.weight: extent Z \(Z\) is 0`, func(f *models.Family) {
			f.Weights = f.Weights.With(models.Weights{"attn.q.weight": models.At("Z,H", "q")})
		}},
	} {
		f := toy()
		f.Layer = c.layer
		if c.change != nil {
			c.change(&f)
		}
		_, err := models.Build(f, readConfig(t, nil))
		require.Error(t, err, c.name)
		require.Regexp(t, "^models: family toy: "+c.want+"$", err.Error(), c.name)
	}
}

// Every optional part of a family replaces its default.
func TestBuildHooks(t *testing.T) {
	f := toy()
	f.Config = func(c *models.Config) { c.Extent("A", c.Int("width", 0)); c.Extent("B", 0) }
	f.Weights = f.Weights.With(models.Weights{"a.weight": models.At("A,H", "a"), "b.weight": models.At("H,A", "b"), "c.weight": models.At("B,1,H", "c")})
	f.State = func(c *models.Config, l int) ir.Type {
		if l == 0 {
			return ir.Type{}
		}
		return ir.StateOf(ir.Grow, ir.Tensor(ir.F32, ir.S, ir.N(c.HiddenSize)))
	}
	f.Layer = func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
		if l == 1 {
			next = b.Append(state, s, x)
		}
		return b.Linear(b.Linear(x, "a"), "b"), next
	}
	f.Embed = func(b *ir.Builder, c *models.Config, ids *ir.Value) *ir.Value {
		return b.Affine(b.Embed(b.Weight("embed.weight"), ids), 3, 0)
	}
	f.Head = func(b *ir.Builder, c *models.Config, x *ir.Value) *ir.Value { return b.Linear(x, "head") }
	m, err := models.Build(f, readConfig(t, map[string]any{"width": 3}))
	require.NoError(t, err)
	require.Equal(t, `layers layer0 layer1

graph embed
  %1:ids = input : i32[T]
  %2:embed.weight = weight offset=0 : f32[10,8]
  %3 = embed %2 %1 : f32[T,8]
  %4:embed = affine %3 mul=3 add=0 : f32[T,8]
  return %4

graph layer0
  %1:x = input : f32[T,8]
  %2:pos = input : i32[T]
  %3:seq = input : i32[B+1]
  %4:past = input : i32[B]
  %5:base = input : i32[B]
  %6:parent = input : i32[B]
  %7:a.weight = weight offset=0 : f32[3,8]
  %8:a = matmul %1 %7 : f32[T,3]
  %9:b.weight = weight offset=0 : f32[8,3]
  %10:y = matmul %8 %9 : f32[T,8]
  return %10

graph layer1
  %1:x = input : f32[T,8]
  %2:pos = input : i32[T]
  %3:seq = input : i32[B+1]
  %4:past = input : i32[B]
  %5:base = input : i32[B]
  %6:parent = input : i32[B]
  %7:state = input : grow(f32[S,8])
  %8:state.next = append %7 %3 %4 %5 %1 inplace=0 : grow(f32[S,8])
  %9:a.weight = weight offset=0 : f32[3,8]
  %10:a = matmul %1 %9 : f32[T,3]
  %11:b.weight = weight offset=0 : f32[8,3]
  %12:y = matmul %10 %11 : f32[T,8]
  return %12 %8

graph head
  %1:x = input : f32[L,8]
  %2:head.weight = weight offset=0 : f32[10,8]
  %3:logits = matmul %1 %2 : f32[L,10]
  return %3
`, m.String())
}
