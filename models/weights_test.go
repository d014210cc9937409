package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
)

// stack joins the experts of each layer into one tensor; a suffix of ".weight" stays or not.
func stack(f *fake, suffix string) {
	for l := range 2 {
		for name, shape := range map[string][]int{"gate_proj": {4, 4, 8}, "up_proj": {4, 4, 8}, "down_proj": {4, 8, 4}} {
			prefix := fmt.Sprintf("model.layers.%d.mlp.experts.", l)
			var old []string
			for e := range 4 {
				old = append(old, fmt.Sprintf("%s%d.%s.weight", prefix, e, name))
			}
			f.replace(prefix+name+suffix, shape, old...)
		}
	}
}

// fuse puts each expert's up behind its gate.
func fuse(f *fake) {
	for l := range 2 {
		for e := range 4 {
			prefix := fmt.Sprintf("model.layers.%d.mlp.experts.%d.", l, e)
			f.replace(prefix+"gate_up_proj.weight", []int{8, 8}, prefix+"gate_proj.weight", prefix+"up_proj.weight")
		}
	}
}

// spellings are the names and forms of the same weights.
var spellings = []struct {
	name   string
	change func(*fake)
	most   int // elements of the largest read
}{
	{"one by one", func(*fake) {}, 24},
	{"stacked", func(f *fake) { stack(f, "") }, 32},
	{"stacked, .weight", func(f *fake) { stack(f, ".weight") }, 32},
	{"fused", fuse, 24},
	{"stacked and fused", func(f *fake) {
		fuse(f)
		for l := range 2 {
			prefix := fmt.Sprintf("model.layers.%d.mlp.experts.", l)
			var gateUp, down []string
			for e := range 4 {
				gateUp, down = append(gateUp, fmt.Sprintf("%s%d.gate_up_proj.weight", prefix, e)), append(down, fmt.Sprintf("%s%d.down_proj.weight", prefix, e))
			}
			f.replace(prefix+"gate_up_proj", []int{4, 8, 8}, gateUp...)
			f.replace(prefix+"down_proj", []int{4, 8, 4}, down...)
		}
	}, 64},
	{"GGUF", func(f *fake) {
		stack(f, "")
		f.rename("model.embed_tokens", "token_embd", "model.norm", "output_norm", "lm_head", "output", "model.layers.", "blk.",
			"input_layernorm", "attn_norm", "post_attention_layernorm", "ffn_norm", "self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k",
			"self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output", "mlp.gate", "ffn_gate_inp", "mlp.experts.gate_proj", "ffn_gate_exps.weight",
			"mlp.experts.up_proj", "ffn_up_exps.weight", "mlp.experts.down_proj", "ffn_down_exps.weight")
	}, 32},
}

// spelled is toy with GGUF's names too.
func spelled() models.Family {
	f := toy()
	f.Weights = f.Weights.With(models.Weights{"ffn.router.weight": models.At("E,H", "model.layers.{l}.mlp.gate.weight", "blk.{l}.ffn_gate_inp.weight")})
	return f
}

// The same weights under all their names and in all their forms read the same.
func TestSpellingsOfWeights(t *testing.T) {
	want := map[string][]float32{}
	reference := open(t, toyCheckpoint(nil))
	for _, c := range spellings {
		f := toyCheckpoint(nil)
		c.change(f)
		family := spelled()
		m, err := models.Open(f, []models.Family{family})
		require.NoError(t, err, c.name)
		for weight := range family.Weights {
			for l := range 2 {
				for e := range 4 {
					key := fmt.Sprint(weight, l, e)
					if want[key] == nil {
						want[key] = read(t, reference, weight, l, e)
					}
					require.Equal(t, want[key], read(t, m, weight, l, e), "%s: %s", c.name, key)
				}
			}
		}
		require.LessOrEqual(t, f.largest, c.most, "%s: a read is larger than an expert", c.name)
	}
}

// Two forms of a weight in one checkpoint are one too many.
func TestTwoFormsOfAWeight(t *testing.T) {
	f := toyCheckpoint(nil)
	f.put("model.layers.0.mlp.experts.down_proj", 4, 8, 4)
	_, err := models.Open(f, []models.Family{toy()})
	require.EqualError(t, err, `models: the checkpoint of architecture ToyForCausalLM: nothing reads tensor "model.layers.0.mlp.experts.down_proj" `+
		`(one too many: beyond config.json's layers and experts, or there under another name)`)
}

// Each recipe, element by element: stored[i] = i.
func TestRecipes(t *testing.T) {
	for _, c := range []struct {
		source  models.Source
		extents string
		stored  []int
		at      func(expert, row, col int) int // where an element of the weight is stored
	}{
		{models.Source{}, "A,B", []int{3, 5}, func(_, r, k int) int { return r*5 + k }},
		{models.Source{}, "A,1,B", []int{3, 1, 5}, func(_, r, k int) int { return r*5 + k }},
		{models.Source{Part: 1, Parts: 3}, "A,B", []int{9, 5}, func(_, r, k int) int { return (3+r)*5 + k }},
		{models.Source{Transpose: true}, "A,B", []int{5, 3}, func(_, r, k int) int { return k*3 + r }},
		{models.Source{Transpose: true, Part: 2, Parts: 3}, "A,B", []int{5, 9}, func(_, r, k int) int { return k*9 + 6 + r }},
		{models.Source{Stacked: true}, "A,B", []int{4, 3, 5}, func(e, r, k int) int { return e*15 + r*5 + k }},
		{models.Source{Stacked: true, Part: 1, Parts: 2}, "A,B", []int{4, 6, 5}, func(e, r, k int) int { return e*30 + (3+r)*5 + k }},
		{models.Source{Stacked: true, Transpose: true}, "A,B", []int{4, 5, 3}, func(e, r, k int) int { return e*15 + k*3 + r }},
		{models.Source{Stacked: true, Transpose: true, Part: 1, Parts: 2}, "A,B", []int{4, 5, 6}, func(e, r, k int) int { return e*30 + k*6 + 3 + r }},
		{models.Source{Interleaved: true}, "Q,B", []int{8, 5}, func(_, r, k int) int { return (r/4*4+r%2*2+r%4/2)*5 + k }},         // 2 heads of 4 rows
		{models.Source{Transpose: true, Part: 1, Parts: 2}, "A,G", []int{100000, 6}, func(_, r, k int) int { return k*6 + 3 + r }}, // read in runs
	} {
		m := recipeModel(t, c.source, c.extents, c.stored)
		for e := range 4 {
			got := read(t, m, "expert.x.weight", 0, e)
			width := len(got) / m.Shape("expert.x.weight")[0]
			for i, v := range got {
				if want := float32(c.at(e, i/width, i%width)); v != want {
					t.Fatalf("%+v, expert %d, row %d, column %d: got stored element %v, want %v", c.source, e, i/width, i%width, v, want)
				}
			}
		}
	}
}

// recipeModel opens a model of one layer, whose experts read x by the recipe.
func recipeModel(t *testing.T, s models.Source, extents string, stored []int) *models.Model {
	t.Helper()
	s.Name = "x"
	f := models.Family{
		Name: "recipe", Architectures: []string{"RecipeForCausalLM"},
		Weights: models.Weights{
			"embed.weight": models.At("V,H", "embed"), "final.norm.weight": models.At("H", "norm"), "head.weight": models.At("V,H", "head"),
			"expert.x.weight": models.Weight{Extents: extents}.Or(s),
		},
		Config: func(c *models.Config) { c.Extent("A", 3); c.Extent("B", 5); c.Extent("G", 100000) },
		State:  func(*models.Config, int) ir.Type { return ir.Type{} },
		Layer: func(b *ir.Builder, c *models.Config, _ int, x *ir.Value, _ ir.Step, _ *ir.Value) (y, next *ir.Value) {
			ids := b.TopK(x, 1)
			return b.Add(x, b.Experts(x, ids, b.Gather(x, ids), func(e *ir.Builder, x *ir.Value) *ir.Value {
				e.Weight("x.weight")
				return e.SiLU(x)
			})), nil
		},
	}
	ck := toyCheckpoint(map[string]any{"architectures": f.Architectures, "num_hidden_layers": 1, "intermediate_size": absent, "num_key_value_heads": absent})
	ck.tensors = map[string]fakeTensor{}
	ck.put("embed", 10, 8)
	ck.put("norm", 8)
	ck.put("head", 10, 8)
	ck.put("x", stored...)
	for i := range ck.tensors["x"].values {
		ck.tensors["x"].values[i] = float32(i)
	}
	return open(t, ck, f)
}
