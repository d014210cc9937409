package models_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
)

func TestOpen(t *testing.T) {
	f := toyCheckpoint(nil)
	f.put("model.layers.0.self_attn.rotary_emb.inv_freq", 2)
	f.put("model.layers.1.self_attn.rotary_emb.inv_freq", 2)
	norm := f.tensors["model.norm.weight"]
	norm.dtype = "F64"
	f.tensors["model.norm.weight"] = norm
	router := f.tensors["model.layers.1.mlp.gate.weight"]
	router.dtype = "F16"
	f.tensors["model.layers.1.mlp.gate.weight"] = router
	m := open(t, f)
	require.Equal(t, []string{"skipped, for they follow from config.json: model.layers.0.self_attn.rotary_emb.inv_freq, model.layers.1.self_attn.rotary_emb.inv_freq"}, m.Notes)
	require.Equal(t, []int{4, 8}, m.Shape("attn.k.weight"))
	require.Equal(t, []int{8}, m.Shape("final.norm.weight"))
	require.Nil(t, m.Shape("attn.z.weight"))
	for name, want := range map[string]ir.DType{"attn.q.weight": ir.BF16, "final.norm.weight": ir.F32, "ffn.router.weight": ir.F32, "attn.z.weight": ir.Invalid} {
		require.Equal(t, want, m.DType(name), name)
	}
	module, err := m.Module()
	require.NoError(t, err)
	require.Equal(t, []string{"layer0", "layer1"}, module.Layers)
	require.Equal(t, f.tensors["model.layers.1.mlp.experts.3.up_proj.weight"].values, read(t, m, "expert.up.weight", 1, 3))
}

// read reads a whole weight in runs of three rows.
func read(t testing.TB, m *models.Model, weight string, layer, expert int) []float32 {
	t.Helper()
	shape := m.Shape(weight)
	width := 1
	for _, n := range shape[1:] {
		width *= n
	}
	dst := make([]float32, shape[0]*width)
	for row := 0; row < shape[0]; row += 3 {
		n := min(3, shape[0]-row)
		require.NoError(t, m.Read(context.Background(), weight, layer, expert, row, n, dst[row*width:(row+n)*width]))
	}
	return dst
}

func TestReadErrors(t *testing.T) {
	m := open(t, toyCheckpoint(nil))
	for _, c := range []struct {
		weight                   string
		layer, expert, row, rows int
		room                     int
		want                     string
	}{
		{"attn.z.weight", 0, 0, 0, 1, 8, "models: weight attn.z.weight, layer 0, expert 0: no such weight"},
		{"attn.q.weight", 2, 0, 0, 1, 8, "models: weight attn.q.weight, layer 2, expert 0: no such weight"},
		{"expert.up.weight", 0, 4, 0, 1, 8, "models: weight expert.up.weight, layer 0, expert 4: no such weight"},
		{"attn.q.weight", 0, 0, 7, 2, 16, "models: weight attn.q.weight, layer 0, expert 0: rows 7 to 9 of [8 8] do not fit 16 elements"},
		{"attn.q.weight", 0, 0, 0, 1, 7, "models: weight attn.q.weight, layer 0, expert 0: rows 0 to 1 of [8 8] do not fit 7 elements"},
		{"attn.q.weight", 0, 0, -1, 1, 8, "models: weight attn.q.weight, layer 0, expert 0: rows -1 to 0 of [8 8] do not fit 8 elements"},
	} {
		err := m.Read(context.Background(), c.weight, c.layer, c.expert, c.row, c.rows, make([]float32, c.room))
		require.EqualError(t, err, c.want)
	}
}

// Reads do not disturb each other, nor a build.
func TestReadConcurrently(t *testing.T) {
	f := toyCheckpoint(nil)
	m := open(t, f)
	var group sync.WaitGroup
	for e := range 4 {
		group.Go(func() {
			got := make([]float32, 32)
			name := fmt.Sprintf("model.layers.1.mlp.experts.%d.up_proj.weight", e)
			for range 50 {
				if err := m.Read(context.Background(), "expert.up.weight", 1, e, 0, 4, got); err != nil || !slices.Equal(got, f.tensors[name].values) {
					t.Errorf("expert %d: %v, got %v, want %v", e, err, got, f.tensors[name].values)
				}
			}
		})
	}
	_, err := m.Module()
	group.Wait()
	require.NoError(t, err)
}

// What does not fit is refused by name before anything is read.
func TestOpenErrors(t *testing.T) {
	const prefix = "models: the checkpoint of architecture ToyForCausalLM"
	drop := func(names ...string) func(*fake) {
		return func(f *fake) {
			for _, n := range names {
				delete(f.tensors, n)
			}
		}
	}
	typed := func(dtype string, shape ...int) func(*fake) {
		return func(f *fake) {
			f.put("model.layers.0.mlp.gate.weight", shape...)
			x := f.tensors["model.layers.0.mlp.gate.weight"]
			x.dtype = "BF16"
			if dtype != "" {
				x.dtype = checkpoint.DType(dtype)
			}
			f.tensors["model.layers.0.mlp.gate.weight"] = x
		}
	}
	for _, c := range []struct {
		name   string
		config map[string]any
		change func(*fake)
		want   string
	}{
		{"missing", nil, drop("model.norm.weight", "model.layers.1.mlp.experts.2.up_proj.weight"),
			prefix + ` has no tensor "model.layers.1.mlp.experts.2.up_proj.weight", "model.norm.weight"`},
		{"many missing", map[string]any{"num_experts": 6}, func(*fake) {},
			prefix + ` has no tensor "model.layers.0.mlp.experts.4.gate_proj.weight", "model.layers.0.mlp.experts.5.gate_proj.weight", ` +
				`"model.layers.0.mlp.experts.4.up_proj.weight", "model.layers.0.mlp.experts.5.up_proj.weight", "model.layers.0.mlp.experts.4.down_proj.weight", ` +
				`"model.layers.0.mlp.experts.5.down_proj.weight", "model.layers.1.mlp.experts.4.gate_proj.weight", "model.layers.1.mlp.experts.5.gate_proj.weight" and 4 more; ` +
				`tensor "model.layers.0.mlp.gate.weight" is [4 8], want [6 8] (num_experts, hidden_size), tensor "model.layers.1.mlp.gate.weight" is [4 8], want [6 8] (num_experts, hidden_size)`},
		{"another name", nil, func(f *fake) { f.rename("1.mlp.experts.3.up_proj", "1.mlp.experts.3.w_up_proj") },
			prefix + ` has no tensor "model.layers.1.mlp.experts.3.up_proj.weight"; ` +
				`nothing reads tensor "model.layers.1.mlp.experts.3.w_up_proj.weight" (nearest: "model.layers.1.mlp.experts.3.up_proj.weight")`},
		{"unused", nil, func(f *fake) { f.put("model.layers.0.self_attn.q_proj.bias", 8); f.put("lm_head.bias", 10) },
			prefix + `: nothing reads tensor "lm_head.bias" (nearest: "lm_head.weight"), "model.layers.0.self_attn.q_proj.bias" (nearest: "model.layers.0.self_attn.q_proj.weight")`},
		{"a layer too many", map[string]any{"num_hidden_layers": 1}, drop(toyLayerNames(1)[1:]...),
			prefix + `: nothing reads tensor "model.layers.1.input_layernorm.weight" (one too many: beyond config.json's layers and experts, or there under another name)`},
		{"shape", nil, typed("", 8, 4), prefix + `: tensor "model.layers.0.mlp.gate.weight" is [8 4], want [4 8] (num_experts, hidden_size)`},
		{"rank", nil, typed("", 4, 8, 1), prefix + `: tensor "model.layers.0.mlp.gate.weight" is [4 8 1], want [4 8] (num_experts, hidden_size)`},
		{"FP8", nil, typed("F8_E5M2", 4, 8), prefix + `: tensor "model.layers.0.mlp.gate.weight" is F8_E5M2: codes, whose scales are not applied`},
		{"FP4 with scales", nil, func(f *fake) {
			typed("F4", 4, 8)(f)
			f.put("model.layers.0.mlp.gate.input_scale", 1)
		}, prefix + `: tensor "model.layers.0.mlp.gate.weight" is F4: codes, whose scales are not applied; ` +
			`nothing reads tensor "model.layers.0.mlp.gate.input_scale" (nearest: "model.layers.0.mlp.gate.weight")`},
		{"fewer rows than tokens", map[string]any{"vocab_size": 11}, func(*fake) {},
			prefix + `: tensor "model.embed_tokens.weight" is [10 8], want [11 8] (vocab_size, hidden_size), tensor "lm_head.weight" is [10 8], want [11 8] (vocab_size, hidden_size)`},
		{"architecture", map[string]any{"architectures": []string{"NewForCausalLM", "NewModel"}}, func(*fake) {},
			`models: unknown architecture "NewForCausalLM"; known: ToyForCausalLM (toy); docs/adding-a-family.md tells how to add one`},
		{"no architecture", map[string]any{"architectures": absent}, func(*fake) {}, `models: config.json: architectures is not there: want a list of one`},
		{"config", map[string]any{"num_experts": 0}, func(*fake) {}, `models: config.json: num_experts is 0: want a whole number from 1 to 4096`},
		{"setting", map[string]any{"attention_bias": true}, func(*fake) {},
			`models: family toy: config.json: attention_bias is true: want false`},
	} {
		f := toyCheckpoint(c.config)
		c.change(f)
		m, err := models.Open(f, []models.Family{toy()})
		require.EqualError(t, err, c.want, c.name)
		require.Nil(t, m, c.name)
		require.Zero(t, f.reads, c.name)
	}
}

// toyLayerNames lists the tensors of a layer, sorted.
func toyLayerNames(l int) (names []string) {
	for _, t := range toyCheckpoint(nil).Tensors() {
		var layer int
		if n, _ := fmt.Sscanf(t.Name, "model.layers.%d.", &layer); n == 1 && layer == l {
			names = append(names, t.Name)
		}
	}
	return names
}

func TestTiedHead(t *testing.T) {
	const head, embed = "lm_head.weight", "model.embed_tokens.weight"
	equal := func(f *fake) { f.tensors[head] = f.tensors[embed] }
	gone := func(f *fake) { delete(f.tensors, head) }
	for _, c := range []struct {
		name   string
		tied   any
		change func(*fake)
		reads  string // the tensor that the head is read from
		notes  []string
		note   string // of CompareHead
		err    string
	}{
		{"untied, present", false, func(*fake) {}, head, nil, "", ""},
		{"untied, absent", false, gone, "", nil, "", `models: the checkpoint of architecture ToyForCausalLM has no tensor "lm_head.weight" (tie_word_embeddings is false)`},
		{"tied, absent", true, gone, embed, nil, "", ""},
		{"tied, equal", true, equal, head, nil, "tie_word_embeddings is true, and lm_head.weight equals model.embed_tokens.weight: lm_head.weight is used for the head", ""},
		{"tied, other", true, func(*fake) {}, head, nil, "tie_word_embeddings is true, but lm_head.weight differs from model.embed_tokens.weight: lm_head.weight is used for the head", ""},
		{"unstated, present", absent, func(*fake) {}, head, []string{"config.json has no tie_word_embeddings: the head is lm_head.weight"}, "", ""},
		{"unstated, absent", absent, gone, embed, []string{"config.json has no tie_word_embeddings, and the checkpoint no head: the head is the embedding"}, "", ""},
	} {
		f := toyCheckpoint(map[string]any{"tie_word_embeddings": c.tied})
		c.change(f)
		m, err := models.Open(f, []models.Family{toy()})
		if c.err != "" {
			require.EqualError(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.notes, m.Notes, c.name)
		require.Equal(t, f.tensors[c.reads].values, read(t, m, "head.weight", 0, 0), c.name)
		note, err := m.CompareHead(context.Background())
		require.NoError(t, err, c.name)
		require.Equal(t, c.note, note, c.name)
	}
}

// Rows past the last token are left out.
func TestPaddedRows(t *testing.T) {
	f := toyCheckpoint(map[string]any{"vocab_size": 9})
	f.put("model.embed_tokens.weight", 16, 8)
	m := open(t, f)
	require.Equal(t, []string{
		`tensor "model.embed_tokens.weight" has 16 rows for 9 tokens: the rest is padding and is left out`,
		`tensor "lm_head.weight" has 10 rows for 9 tokens: the rest is padding and is left out`,
	}, m.Notes)
	require.Equal(t, []int{9, 8}, m.Shape("embed.weight"))
	require.Equal(t, f.tensors["lm_head.weight"].values[:72], read(t, m, "head.weight", 0, 0))
	module, err := m.Module()
	require.NoError(t, err)
	require.Equal(t, "f32[L,9]", module.Graph("head").Outputs[0].Type.String())
	require.Error(t, m.Read(context.Background(), "embed.weight", 0, 0, 9, 1, make([]float32, 8)))
}

// So has a null, unless the default means none.
func TestNullsAreNoted(t *testing.T) {
	f := toy()
	f.Layer = func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
		c.Bool("norm_topk_prob", false)
		c.Float("routed_scaling_factor", 2.5)
		c.Float("clip_qkv", math.Inf(1))
		c.Int("q_lora_rank", 0)
		c.String("scoring_func", "softmax")
		c.Strings("layer_types")
		return toyLayer(b, c, l, x, s, state)
	}
	nulls := map[string]any{"norm_topk_prob": nil, "routed_scaling_factor": nil, "clip_qkv": nil, "q_lora_rank": nil, "scoring_func": nil, "layer_types": nil}
	m, err := models.Open(toyCheckpoint(nulls), []models.Family{f})
	require.NoError(t, err)
	require.Equal(t, []string{
		"config.json: norm_topk_prob is null: false is taken",
		"config.json: routed_scaling_factor is null: 2.5 is taken",
		"config.json: scoring_func is null: softmax is taken",
	}, m.Notes)
}

// An absent key that the family reads has the family's default, and the user is told.
func TestDefaultsAreNoted(t *testing.T) {
	f := toy()
	f.Layer = func(b *ir.Builder, c *models.Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
		c.Bool("norm_topk_prob", true)
		c.Float("clip_qkv", math.Inf(1))
		c.Strings("layer_types")
		c.Object("rope_scaling").Float("mscale", 1)
		return toyLayer(b, c, l, x, s, state)
	}
	yarn := map[string]any{"rope_scaling": map[string]any{"factor": nil}}
	m, err := models.Open(toyCheckpoint(yarn), []models.Family{f})
	require.NoError(t, err)
	require.Equal(t, []string{
		"the checkpoint does not say clip_qkv: none is taken",
		"the checkpoint does not say layer_types: none is taken",
		"the checkpoint does not say norm_topk_prob: true is taken",
		"the checkpoint does not say rope_scaling.mscale: 1 is taken",
	}, m.Notes)
}
