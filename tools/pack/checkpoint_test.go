package pack

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// A toy is a small OLMoE checkpoint of random weights. A weight's values follow
// from its name alone, however the checkpoint spells and stores it.
type toy struct {
	hidden, inner, vocab, layers, experts, perToken int
	spelling                                        string // of experts: each, stacked, fused, fused each
	tied                                            string // "true", "false" or "" for absent
	head                                            string // "own", "none" or "equal" to the embeddings
	padding                                         int    // rows of the embeddings and the head beyond the vocabulary
	change                                          func(tensors map[string]checkpointtest.Tensor)
}

// toyTokenizer is about the least that is one.
const toyTokenizer = `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "pre_tokenizer": {"type": "ByteLevel", "trim_offsets": true, "add_prefix_space": false, "use_regex": true}, "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}}`

func smallToy() toy {
	return toy{hidden: 64, inner: 32, vocab: 96, layers: 2, experts: 4, perToken: 2, spelling: "each", tied: "false", head: "own"}
}

func (c toy) config() map[string]any {
	config := map[string]any{
		"architectures": []string{"OlmoeForCausalLM"}, "model_type": "olmoe", "vocab_size": c.vocab, "hidden_size": c.hidden,
		"intermediate_size": c.inner, "num_hidden_layers": c.layers, "num_attention_heads": 4, "num_key_value_heads": 4,
		"num_experts": c.experts, "num_experts_per_tok": c.perToken, "norm_topk_prob": false, "clip_qkv": nil, "attention_bias": false,
		"rope_theta": 10000.0, "rope_scaling": nil, "rms_norm_eps": 1e-5, "hidden_act": "silu", "max_position_embeddings": 64,
	}
	if c.tied != "" {
		config["tie_word_embeddings"] = c.tied == "true"
	}
	return config
}

// values are those of a weight, or of more rows of it.
func values(name string, n int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = quant.FromBF16(quant.BF16(float32(r.NormFloat64()) / 16))
	}
	return out
}

// tensors are the checkpoint's.
func (c toy) tensors() map[string]checkpointtest.Tensor {
	out := map[string]checkpointtest.Tensor{}
	put := func(name string, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		out[name] = checkpointtest.BF16(shape, values(name, n)...)
	}
	put("model.embed_tokens.weight", c.vocab+c.padding, c.hidden)
	put("model.norm.weight", c.hidden)
	switch c.head {
	case "own":
		put("lm_head.weight", c.vocab+c.padding, c.hidden)
	case "equal":
		out["lm_head.weight"] = out["model.embed_tokens.weight"]
	}
	for l := range c.layers {
		layer := fmt.Sprintf("model.layers.%d.", l)
		for _, norm := range []string{"input_layernorm", "post_attention_layernorm", "self_attn.q_norm", "self_attn.k_norm"} {
			put(layer+norm+".weight", c.hidden)
		}
		for _, m := range []string{"q", "k", "v", "o"} {
			put(layer+"self_attn."+m+"_proj.weight", c.hidden, c.hidden)
		}
		put(layer+"mlp.gate.weight", c.experts, c.hidden)
		c.putExperts(layer+"mlp.experts.", out)
	}
	if c.change != nil {
		c.change(out)
	}
	return out
}

// putExperts writes the experts of a layer as the spelling has them.
func (c toy) putExperts(prefix string, out map[string]checkpointtest.Tensor) {
	of := func(e int, name string) []float32 {
		return values(fmt.Sprintf("%s%d.%s_proj.weight", prefix, e, name), c.inner*c.hidden)
	}
	shapes := map[string][]int{"gate": {c.inner, c.hidden}, "up": {c.inner, c.hidden}, "down": {c.hidden, c.inner}}
	stack := func(names ...string) (all []float32) {
		for e := range c.experts {
			for _, n := range names {
				all = append(all, of(e, n)...)
			}
		}
		return all
	}
	if c.spelling == "stacked" || c.spelling == "fused" {
		for name, shape := range shapes {
			out[prefix+name+"_proj"] = checkpointtest.BF16(append([]int{c.experts}, shape...), stack(name)...)
		}
		if c.spelling == "fused" {
			delete(out, prefix+"gate_proj")
			delete(out, prefix+"up_proj")
			out[prefix+"gate_up_proj"] = checkpointtest.BF16([]int{c.experts, 2 * c.inner, c.hidden}, stack("gate", "up")...)
		}
		return
	}
	for e := range c.experts {
		at := fmt.Sprintf("%s%d.", prefix, e)
		for name, shape := range shapes {
			out[at+name+"_proj.weight"] = checkpointtest.BF16(shape, of(e, name)...)
		}
		if c.spelling == "fused each" {
			delete(out, at+"gate_proj.weight")
			delete(out, at+"up_proj.weight")
			out[at+"gate_up_proj.weight"] = checkpointtest.BF16([]int{2 * c.inner, c.hidden}, append(of(e, "gate"), of(e, "up")...)...)
		}
	}
}

// write writes the checkpoint and returns its folder.
func (c toy) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), c.tensors()))
	config, err := json.Marshal(c.config())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(toyTokenizer), 0o666))
	return dir
}

func hostPacking() lower.Packing { return host.New(host.Options{}).Packings()[0] }

// options are those of packing as an encoding for the host.
func options(t testing.TB, encoding string) Options {
	e, err := FindEncoding(encoding)
	require.NoError(t, err)
	return Options{Encoding: e, Backend: "host", Packing: hostPacking(), Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors}}
}

// packed packs a checkpoint and returns the package's folder.
func packed(t testing.TB, from string, o Options) (dir string, r *Report) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "pkg")
	r, err := Run(t.Context(), from, dir, o)
	require.NoError(t, err)
	return dir, r
}

// requireSame checks that two directories hold the same files.
func requireSame(t testing.TB, want, got string) {
	t.Helper()
	a, b := contents(t, want), contents(t, got)
	require.Equal(t, slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	for name := range a {
		require.True(t, a[name] == b[name], "%s of %s and %s differ", name, want, got)
	}
}

func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = string(data)
	}
	return out
}

// requireOnly checks what a directory holds.
func requireOnly(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.Equal(t, names, got, dir)
}

// source returns the values that the checkpoint has of a weight of the graphs.
func (c toy) source(name string, layer, expert int) (values_ []float32, rows int) {
	prefix := fmt.Sprintf("model.layers.%d.", layer)
	size := map[string]int{"gate": c.inner, "up": c.inner, "down": c.hidden}
	switch part := strings.Split(strings.TrimSuffix(name, ".weight"), "."); {
	case part[0] == "expert":
		return values(fmt.Sprintf("%smlp.experts.%d.%s_proj.weight", prefix, expert, part[1]), c.inner*c.hidden), size[part[1]]
	case name == "embed.weight":
		return values("model.embed_tokens.weight", c.vocab*c.hidden), c.vocab
	case name == "head.weight" && c.head == "own":
		return values("lm_head.weight", c.vocab*c.hidden), c.vocab
	case name == "head.weight":
		return values("model.embed_tokens.weight", c.vocab*c.hidden), c.vocab
	case name == "final.norm.weight":
		return values("model.norm.weight", c.hidden), 1
	case name == "ffn.router.weight":
		return values(prefix+"mlp.gate.weight", c.experts*c.hidden), c.experts
	case name == "attn.norm.weight":
		return values(prefix+"input_layernorm.weight", c.hidden), 1
	case name == "ffn.norm.weight":
		return values(prefix+"post_attention_layernorm.weight", c.hidden), 1
	case strings.HasSuffix(part[1], "_norm"):
		return values(prefix+"self_attn."+part[1]+".weight", c.hidden), 1
	default:
		return values(prefix+"self_attn."+part[1]+"_proj.weight", c.hidden*c.hidden), c.hidden
	}
}
