package all_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint/checkpointtest"
)

// GGUF files give the logits that PyTorch gives with the values that Python's gguf
// decodes, of the last four positions.
func TestGGUFGoldens(t *testing.T) {
	golden := openFile(t, "../../testdata/gguf/goldens.safetensors")
	files, err := filepath.Glob("../../testdata/gguf/*.gguf")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		name := filepath.Base(file)
		got := run(t, openFile(t, file), floats(t, golden, name+".input_ids"))["logits"]
		want := floats(t, golden, name+".logits")
		compare(t, name, got[len(got)-len(want):], want)
	}
}

// ggufFolder is where bench/peers/check_gguf.py wants the files that tests make.
var ggufFolder = flag.String("gguf", "", "folder to keep GGUF files of the tiny checkpoints in")

// The tiny checkpoints give the same logits as GGUF files.
func TestFamiliesAsGGUF(t *testing.T) {
	for _, name := range tiny {
		folder := filepath.Join("../../testdata", name)
		golden := openFile(t, filepath.Join(folder, "goldens.safetensors"))
		for _, halves := range []bool{true, false} {
			path := filepath.Join(cmp.Or(*ggufFolder, t.TempDir()), fmt.Sprintf("%s-%v.gguf", name, halves))
			require.NoError(t, converted(t, folder, halves).Write(path))
			got := run(t, openFile(t, path), floats(t, golden, "p33.input_ids"))["logits"]
			compare(t, name, got, floats(t, golden, "p33.logits"))
		}
	}
}

// TestPeerFiles writes the files of DeepSeek that llama.cpp reads, where they are asked
// for: without low-rank queries it takes models of 27 layers alone.
func TestPeerFiles(t *testing.T) {
	if *ggufFolder == "" {
		t.Skip("for bench/peers/check_gguf.py")
	}
	for _, halves := range []bool{true, false} {
		path := filepath.Join(*ggufFolder, fmt.Sprintf("deepseek-%v.gguf", halves))
		require.NoError(t, deepened(converted(t, "../../testdata/deepseek", halves), 3, 27).Write(path))
	}
	variants, err := checkpointtest.Variants("../../testdata/variants/variants.json")
	require.NoError(t, err)
	i := slices.IndexFunc(variants, func(v checkpointtest.Variant) bool { return v.Name == "deepseek, low-rank queries, groups" })
	folder := t.TempDir()
	require.NoError(t, variants[i].Write(folder))
	require.NoError(t, converted(t, folder, true).Write(filepath.Join(*ggufFolder, "deepseek-low-rank.gguf")))
}

// deepened repeats all but the first of a file's layers, until there are so many.
func deepened(g checkpointtest.GGUF, from, to int) checkpointtest.GGUF {
	for i, p := range g.Pairs {
		if strings.HasSuffix(p[0].(string), ".block_count") {
			g.Pairs[i][1] = uint32(to)
		}
	}
	stored := map[string]checkpointtest.Stored{}
	for _, x := range g.Tensors {
		stored[x.Name] = x
	}
	for l := from; l < to; l++ {
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			if rest, ok := strings.CutPrefix(name, fmt.Sprintf("blk.%d.", 1+(l-1)%(from-1))); ok {
				x := stored[name]
				x.Name = fmt.Sprintf("blk.%d.%s", l, rest)
				g.Tensors = append(g.Tensors, x)
			}
		}
	}
	return g
}

// A hub is a checkpoint under conversion to GGUF, as llama.cpp does it.
type hub struct {
	t       testing.TB
	config  map[string]any
	tensors map[string][]float32
	shapes  map[string][]int
	out     checkpointtest.GGUF
}

// converted makes a GGUF file of the checkpoint of a folder. halves takes the latent
// matrix of DeepSeek apart, as newer files do.
func converted(t testing.TB, folder string, halves bool) checkpointtest.GGUF {
	h := hub{t: t, tensors: map[string][]float32{}, shapes: map[string][]int{}}
	ck := openFile(t, folder)
	for _, x := range ck.Tensors() {
		h.tensors[x.Name], h.shapes[x.Name] = floats(t, ck, x.Name), x.Shape
	}
	text, err := os.ReadFile(filepath.Join(folder, "config.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &h.config))
	h.metadata(halves)
	h.permute()
	h.stack()
	if halves {
		h.halve()
	}
	for _, name := range slices.Sorted(maps.Keys(h.tensors)) {
		shape := h.shapes[name]
		if strings.HasSuffix(name, "conv.conv.weight") {
			shape = []int{shape[0], shape[2]}
		}
		h.out.Tensors = append(h.out.Tensors, checkpointtest.StoredF32(spelled(name), shape, h.tensors[name]...))
	}
	return h.out
}

func (h *hub) int(key string) int {
	n, _ := h.config[key].(float64)
	return int(n)
}

// metadata writes the keys of the architecture.
func (h *hub) metadata(halves bool) {
	arch := map[any]string{"olmoe": "olmoe", "qwen3_moe": "qwen3moe", "mixtral": "llama", "deepseek_v2": "deepseek2", "lfm2_moe": "lfm2moe"}[h.config["model_type"]]
	put := func(key string, v any) { h.out.Pairs = append(h.out.Pairs, checkpointtest.Pair{arch + "." + key, v}) }
	h.out.Pairs = append(h.out.Pairs, checkpointtest.Pair{"general.architecture", arch}, checkpointtest.Pair{"tokenizer.ggml.model", "none"})
	for key, from := range map[string][]string{
		"block_count": {"num_hidden_layers"}, "context_length": {"max_position_embeddings"}, "embedding_length": {"hidden_size"}, "feed_forward_length": {"intermediate_size"},
		"attention.head_count": {"num_attention_heads"}, "expert_count": {"num_experts", "num_local_experts", "n_routed_experts"}, "expert_used_count": {"num_experts_per_tok"},
		"expert_feed_forward_length": {"moe_intermediate_size"}, "expert_shared_count": {"n_shared_experts"}, "leading_dense_block_count": {"first_k_dense_replace", "num_dense_layers"},
		"vocab_size": {"vocab_size"}, "attention.kv_lora_rank": {"kv_lora_rank"}, "attention.q_lora_rank": {"q_lora_rank"}, "shortconv.l_cache": {"conv_L_cache"},
	} {
		for _, f := range from {
			if n := h.int(f); n > 0 {
				put(key, uint32(n))
			}
		}
	}
	float := func(key, from string) {
		if f, ok := h.config[from].(float64); ok {
			put(key, float32(f))
		}
	}
	float("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	float("attention.layer_norm_rms_epsilon", "norm_eps")
	float("rope.freq_base", "rope_theta")
	float("expert_weights_scale", "routed_scaling_factor")
	if h.config["norm_topk_prob"] == true && arch == "deepseek2" {
		put("expert_weights_norm", true)
	}
	if n := h.int("head_dim"); n > 0 {
		put("attention.key_length", uint32(n))
		put("attention.value_length", uint32(n))
	}
	switch arch {
	case "lfm2moe":
		put("attention.head_count_kv", h.keyHeads())
		put("expert_gating_func", uint32(2))
	case "deepseek2":
		h.latentKeys(put, halves)
	default:
		put("attention.head_count_kv", uint32(h.int("num_key_value_heads")))
	}
}

func (h *hub) keyHeads() []int32 {
	var heads []int32
	for _, kind := range h.config["layer_types"].([]any) {
		heads = append(heads, map[any]int32{"full_attention": int32(h.int("num_key_value_heads"))}[kind])
	}
	return heads
}

func (h *hub) latentKeys(put func(string, any), halves bool) {
	rope, nope, v, rank := h.int("qk_rope_head_dim"), h.int("qk_nope_head_dim"), h.int("v_head_dim"), h.int("kv_lora_rank")
	key, value, heads := "attention.key_length", "attention.value_length", h.int("num_attention_heads")
	if halves {
		heads = 1 // keys are the latents
		put(key, uint32(rank+rope))
		put(value, uint32(rank))
		key, value = key+"_mla", value+"_mla"
	}
	put("attention.head_count_kv", uint32(heads))
	put(key, uint32(nope+rope))
	put(value, uint32(v))
	put("rope.dimension_count", uint32(rope))
	scaling, stretched := h.config["rope_scaling"].(map[string]any)
	if !stretched {
		return
	}
	put("rope.scaling.type", "yarn")
	put("rope.scaling.factor", float32(scaling["factor"].(float64)))
	put("rope.scaling.original_context_length", uint32(scaling["original_max_position_embeddings"].(float64)))
	put("rope.scaling.yarn_beta_fast", float32(scaling["beta_fast"].(float64)))
	put("rope.scaling.yarn_beta_slow", float32(scaling["beta_slow"].(float64)))
	put("rope.scaling.yarn_log_multiplier", float32(0.1*scaling["mscale_all_dim"].(float64)))
}

// permute puts the rows of q and k where the llama converter has them: of a head's
// row j*D/2+i, j being 0 or 1, at 2*i+j.
func (h *hub) permute() {
	if h.config["model_type"] != "mixtral" {
		return
	}
	d := h.int("hidden_size") / h.int("num_attention_heads")
	for name, old := range h.tensors {
		if !strings.HasSuffix(name, "q_proj.weight") && !strings.HasSuffix(name, "k_proj.weight") {
			continue
		}
		width := h.shapes[name][1]
		moved := make([]float32, len(old))
		for row := range h.shapes[name][0] {
			head, at := row/d*d, row%d
			to := head + at%(d/2)*2 + at/(d/2)
			copy(moved[to*width:(to+1)*width], old[row*width:])
		}
		h.tensors[name] = moved
	}
}

// stack joins the experts of each layer.
func (h *hub) stack() {
	for _, name := range slices.Collect(maps.Keys(h.tensors)) {
		before, after, expert := strings.Cut(name, "experts.0.")
		if !expert {
			continue
		}
		joined, n := before+"experts."+after, 0
		shape := h.shapes[name]
		for ; ; n++ {
			one := fmt.Sprintf("%sexperts.%d.%s", before, n, after)
			values, ok := h.tensors[one]
			if !ok {
				break
			}
			h.tensors[joined] = append(h.tensors[joined], values...)
			delete(h.tensors, one)
		}
		h.shapes[joined] = append([]int{n}, shape...)
	}
}

// halve takes latent matrices apart: keys transposed, values as they are.
func (h *hub) halve() {
	for _, name := range slices.Collect(maps.Keys(h.tensors)) {
		if !strings.HasSuffix(name, "kv_b_proj.weight") {
			continue
		}
		heads, nope, v, rank := h.int("num_attention_heads"), h.int("qk_nope_head_dim"), h.int("v_head_dim"), h.int("kv_lora_rank")
		var keys, values []float32
		for head := range heads {
			matrix := h.tensors[name][head*(nope+v)*rank:]
			for c := range rank {
				for row := range nope {
					keys = append(keys, matrix[row*rank+c])
				}
			}
			values = append(values, matrix[nope*rank:(nope+v)*rank]...)
		}
		delete(h.tensors, name)
		k, x := strings.Replace(name, "kv_b", "k_b", 1), strings.Replace(name, "kv_b", "v_b", 1)
		h.tensors[k], h.shapes[k] = keys, []int{heads, rank, nope}
		h.tensors[x], h.shapes[x] = values, []int{heads, v, rank}
	}
}

// spelled is a hub's name as GGUF has it.
func spelled(name string) string {
	r := strings.NewReplacer(
		"model.embed_tokens", "token_embd", "model.norm", "output_norm", "model.embedding_norm", "token_embd_norm", "lm_head", "output", "model.layers.", "blk.",
		"input_layernorm", "attn_norm", "operator_norm", "attn_norm", "post_attention_layernorm", "ffn_norm",
		"self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k", "self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output", "self_attn.out_proj", "attn_output",
		"self_attn.q_norm", "attn_q_norm", "self_attn.k_norm", "attn_k_norm", "self_attn.q_layernorm", "attn_q_norm", "self_attn.k_layernorm", "attn_k_norm",
		"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa", "self_attn.kv_a_layernorm", "attn_kv_a_norm", "self_attn.kv_b_proj", "attn_kv_b",
		"self_attn.k_b_proj", "attn_k_b", "self_attn.v_b_proj", "attn_v_b", "self_attn.q_a_proj", "attn_q_a", "self_attn.q_a_layernorm", "attn_q_a_norm", "self_attn.q_b_proj", "attn_q_b",
		"conv.in_proj", "shortconv.in_proj", "conv.out_proj", "shortconv.out_proj", "conv.conv", "shortconv.conv",
		"mlp.gate.", "ffn_gate_inp.", "block_sparse_moe.gate.", "ffn_gate_inp.", "feed_forward.gate.", "ffn_gate_inp.", "feed_forward.expert_bias", "exp_probs_b.bias",
		"mlp.shared_experts.gate_proj", "ffn_gate_shexp", "mlp.shared_experts.up_proj", "ffn_up_shexp", "mlp.shared_experts.down_proj", "ffn_down_shexp",
		"mlp.experts.gate_proj", "ffn_gate_exps", "mlp.experts.up_proj", "ffn_up_exps", "mlp.experts.down_proj", "ffn_down_exps",
		"block_sparse_moe.experts.w1", "ffn_gate_exps", "block_sparse_moe.experts.w3", "ffn_up_exps", "block_sparse_moe.experts.w2", "ffn_down_exps",
		"feed_forward.experts.w1", "ffn_gate_exps", "feed_forward.experts.w3", "ffn_up_exps", "feed_forward.experts.w2", "ffn_down_exps",
		"mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up", "mlp.down_proj", "ffn_down", "feed_forward.w1", "ffn_gate", "feed_forward.w3", "ffn_up", "feed_forward.w2", "ffn_down",
	)
	return r.Replace(name)
}
