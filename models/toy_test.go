package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
)

// toy is a family of every usual part.
func toy() models.Family {
	return models.Family{
		Name:          "toy",
		Architectures: []string{"ToyForCausalLM"},
		Weights: models.LlamaWeights.With(models.Weights{
			"ffn.router.weight": models.At("E,H", "model.layers.{l}.mlp.gate.weight"),
		}).With(models.ExpertWeights("F", "model.layers.{l}.mlp.experts", "gate_proj", "up_proj", "down_proj")),
		Layer: toyLayer,
	}
}

func toyLayer(b *ir.Builder, c *models.Config, _ int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value) {
	h := b.RMSNorm(x, "attn.norm", c.RMSNormEps)
	q, k, v := b.Linear(h, "attn.q"), b.Linear(h, "attn.k"), b.Linear(h, "attn.v")
	a, next := models.Attend(b, c, models.Heads(b, c, q), models.Heads(b, c, k), models.Heads(b, c, v), s, state, 0)
	x = b.Add(x, b.Linear(a, "attn.o"))
	h = b.RMSNorm(x, "ffn.norm", c.RMSNormEps)
	probs := b.Softmax(b.Linear(h, "ffn.router"))
	ids := b.TopK(probs, c.NumExpertsPerTok)
	return b.Add(x, b.Experts(h, ids, b.Gather(probs, ids), models.SwiGLU)), next
}

// toyConfig returns a config.json with keys changed; a nil func() takes one out.
func toyConfig(edits map[string]any) []byte {
	values := map[string]any{
		"architectures": []string{"ToyForCausalLM"}, "hidden_size": 8, "intermediate_size": 4, "vocab_size": 10,
		"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "num_experts": 4,
		"num_experts_per_tok": 2, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false,
	}
	maps.Copy(values, edits)
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == any(absent) })
	text, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return text
}

const absent = "(absent)"

func readConfig(t testing.TB, edits map[string]any) *models.Config {
	t.Helper()
	c, err := models.ReadConfig(toyConfig(edits))
	require.NoError(t, err)
	return c
}

// A fake is a checkpoint in memory. It counts its reads.
type fake struct {
	config  []byte
	tensors map[string]fakeTensor
	mu      sync.Mutex
	reads   int
	largest int // elements of one read
}

type fakeTensor struct {
	dtype  checkpoint.DType
	shape  []int
	values []float32
}

func (f *fake) Config() ([]byte, error)  { return f.config, nil }
func (f *fake) Files() []checkpoint.File { return nil }
func (f *fake) Close() error             { return nil }
func (f *fake) Tensors() (ts []checkpoint.Tensor) {
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		t := checkpoint.Tensor{Name: name, DType: f.tensors[name].dtype, Shape: f.tensors[name].shape}
		if !t.DType.Exact() {
			t.Opaque = "codes, whose scales are not applied"
		}
		ts = append(ts, t)
	}
	return ts
}

func (f *fake) Read(_ context.Context, name string, row, rows int, dst []float32) error {
	t, ok := f.tensors[name]
	width := len(t.values) / t.shape[0]
	if !ok || row < 0 || rows < 0 || row+rows > t.shape[0] || len(dst) != rows*width {
		return errors.New("bad read of " + name)
	}
	f.mu.Lock()
	f.reads, f.largest = f.reads+1, max(f.largest, len(dst))
	f.mu.Unlock()
	copy(dst, t.values[row*width:])
	return nil
}

// put adds a tensor whose values depend on its name.
func (f *fake) put(name string, shape ...int) {
	n, seed := 1, 0
	for _, d := range shape {
		n *= d
	}
	for _, r := range name {
		seed = (seed*31 + int(r)) % 1000003
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32((seed+i*7919)%10007) / 10007
	}
	f.tensors[name] = fakeTensor{"BF16", shape, values}
}

// toyCheckpoint holds the tensors of toyConfig under the hub's names.
func toyCheckpoint(edits map[string]any) *fake {
	f := &fake{config: toyConfig(edits), tensors: map[string]fakeTensor{}}
	f.put("model.embed_tokens.weight", 10, 8)
	f.put("model.norm.weight", 8)
	f.put("lm_head.weight", 10, 8)
	for l := range 2 {
		p := fmt.Sprintf("model.layers.%d.", l)
		f.put(p+"input_layernorm.weight", 8)
		f.put(p+"post_attention_layernorm.weight", 8)
		f.put(p+"self_attn.q_proj.weight", 8, 8)
		f.put(p+"self_attn.k_proj.weight", 4, 8)
		f.put(p+"self_attn.v_proj.weight", 4, 8)
		f.put(p+"self_attn.o_proj.weight", 8, 8)
		f.put(p+"mlp.gate.weight", 4, 8)
		for e := range 4 {
			p := fmt.Sprintf("%smlp.experts.%d.", p, e)
			f.put(p+"gate_proj.weight", 4, 8)
			f.put(p+"up_proj.weight", 4, 8)
			f.put(p+"down_proj.weight", 8, 4)
		}
	}
	return f
}

// replace puts a tensor made of old ones, joined along their first extent, in their stead.
func (f *fake) replace(name string, shape []int, old ...string) {
	var values []float32
	for _, o := range old {
		values = append(values, f.tensors[o].values...)
		delete(f.tensors, o)
	}
	f.tensors[name] = fakeTensor{"BF16", shape, values}
}

// rename changes names as strings.NewReplacer does.
func (f *fake) rename(oldnew ...string) {
	r, tensors := strings.NewReplacer(oldnew...), map[string]fakeTensor{}
	for name, t := range f.tensors {
		tensors[r.Replace(name)] = t
	}
	f.tensors = tensors
}

func open(t testing.TB, f *fake, families ...models.Family) *models.Model {
	t.Helper()
	m, err := models.Open(f, append(families, toy()))
	require.NoError(t, err)
	require.Zero(t, f.reads, "Open reads weights")
	return m
}
