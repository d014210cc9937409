package pack

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/pager/layout"
)

const ggufs = "../../testdata/gguf/"

// formatOptions are options with every format.
func formatOptions(t testing.TB, encoding string) Options {
	o := options(t, encoding)
	o.Formats = all.Formats()
	return o
}

// asSafeTensors writes the values that a GGUF file has as a checkpoint of the hub, experts one by one.
func asSafeTensors(t testing.TB, path string) string {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{}, all.Formats()...)
	require.NoError(t, err)
	defer c.Close()
	names := strings.NewReplacer("token_embd", "model.embed_tokens", "output_norm", "model.norm", "output.", "lm_head.", "blk.", "model.layers.", "attn_norm", "input_layernorm",
		"ffn_norm", "post_attention_layernorm", "attn_q_norm", "self_attn.q_norm", "attn_k_norm", "self_attn.k_norm", "attn_q.", "self_attn.q_proj.", "attn_k.", "self_attn.k_proj.",
		"attn_v.", "self_attn.v_proj.", "attn_output", "self_attn.o_proj", "ffn_gate_inp", "mlp.gate", "ffn_gate_exps", "mlp.experts.E.gate_proj", "ffn_up_exps", "mlp.experts.E.up_proj", "ffn_down_exps", "mlp.experts.E.down_proj")
	tensors := map[string]checkpointtest.Tensor{}
	for _, x := range c.Tensors() {
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		values := make([]float32, n)
		require.NoError(t, c.Read(t.Context(), x.Name, 0, x.Shape[0], values))
		name, count := names.Replace(x.Name), 1
		if strings.Contains(name, ".E.") {
			count, x.Shape = x.Shape[0], x.Shape[1:]
		}
		for e := range count {
			tensors[strings.ReplaceAll(name, ".E.", fmt.Sprintf(".%d.", e))] = checkpointtest.F32(x.Shape, values[e*n/count:(e+1)*n/count]...)
		}
	}
	dir := t.TempDir()
	require.NoError(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors))
	config, err := c.Config()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666))
	return dir
}

// sums are the checksums of all records and rows of a package.
func sums(t testing.TB, dir string) (all []uint32) {
	t.Helper()
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	for _, r := range append(pkg.Manifest.Experts, pkg.Manifest.Dense...) {
		all = append(all, r.CRC)
	}
	return append(all, pkg.Manifest.Rows[0].Blocks...)
}

// A GGUF file and safetensors of its values make the same records, whatever types it has: Q4_0 too, whose codes are
// taken over, for values that Q4_0 has are codes again.
func TestGGUFBesideSafeTensors(t *testing.T) {
	t.Parallel()
	for file, encodings := range map[string][]string{
		"olmoe-tiny-F16": {"f32", "w4"}, "olmoe-tiny-Q4_0": {"w4full"}, "olmoe-k256-Q4_K_M": {"w4g128"}, "qwen3_moe-tiny-Q8_0": {"bf16"},
	} {
		values := asSafeTensors(t, ggufs+file+".gguf")
		for _, encoding := range encodings {
			want, _ := packed(t, values, formatOptions(t, encoding))
			got, _ := packed(t, ggufs+file+".gguf", formatOptions(t, encoding))
			require.Equal(t, sums(t, want), sums(t, got), "%s as %s", file, encoding)
		}
	}
}

// What is wrong with a GGUF file is told before anything is written.
func TestGGUFRefused(t *testing.T) {
	whole, err := os.ReadFile(ggufs + "olmoe-tiny-Q4_0.gguf")
	require.NoError(t, err)
	edit := func(old, new string) []byte { return bytes.ReplaceAll(whole, []byte(old), []byte(new)) }
	value := func(key string, n byte) string { return key + "\x04\x00\x00\x00" + string([]byte{n, 0, 0, 0}) }
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"U10 another name", edit("blk.1.attn_q.weight", "blk.1.attn_x.weight"), `checkpoint FILE: models: the checkpoint of architecture OlmoeForCausalLM has no tensor "blk.1.attn_q.weight"; ` +
			`nothing reads tensor "blk.1.attn_x.weight" (nearest: "blk.1.attn_k.weight")`},
		{"U12 cut at half", whole[:len(whole)/2], "FILE: cut file: 90576 bytes, want at least 181132: incomplete download or copy"},
		{"an unknown architecture", edit("olmoe", "olmox"), `checkpoint FILE: models: unknown architecture "olmox"; known: `},
		{"a key that nobody knows", edit("olmoe.expert_used_count", "olmoe.expert_used_corns"), "checkpoint FILE: models: metadata olmoe.expert_used_count (num_experts_per_tok) is not there: want a whole number from 1 to the number of experts, 8"},
		{"a value that is none", edit(value("olmoe.expert_used_count", 3), value("olmoe.expert_used_count", 9)),
			"checkpoint FILE: models: metadata olmoe.expert_used_count (num_experts_per_tok) is 9: want a whole number from 1 to the number of experts, 8"},
		{"a key of this family only", edit("olmoe.context_length", "olmoe.context_lengtx"), "checkpoint FILE: models: family olmoe: metadata olmoe.context_lengtx is 4096: the family does not know this setting"},
		{"a tokenizer that is not known", edit("\x04\x00\x00\x00\x00\x00\x00\x00olmo", "\x04\x00\x00\x00\x00\x00\x00\x00omlo"),
			`FILE: tokenizer: pre-tokenizer "omlo" is unknown; put the model's tokenizer.json beside the file`},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.gguf")
		require.NoError(t, os.WriteFile(path, c.file, 0o666))
		_, err := Run(t.Context(), path, filepath.Join(dir, "pkg"), formatOptions(t, "w4"))
		require.Error(t, err, c.name)
		got := strings.ReplaceAll(err.Error(), path, "FILE")
		require.True(t, strings.HasPrefix(got, c.want), "%s:\n got: %s\nwant: %s", c.name, got, c.want)
		requireOnly(t, dir, "x.gguf")
	}
}

// A package of a GGUF file has its tokenizer and chat template, and says what the file was.
func TestGGUFPackage(t *testing.T) {
	t.Parallel()
	dir, r := packed(t, ggufs+"qwen3_moe-tiny-Q4_0.gguf", formatOptions(t, "w4full"))
	require.Contains(t, contents(t, dir), "tokenizer.json")
	require.Contains(t, contents(t, dir), "tokenizer_config.json")
	require.Equal(t, "qwen3", r.Family)
	for _, note := range []string{
		"GGUF types: F32 of 11 tensors, Q4_0 of 15 tensors, Q8_0 of 1 tensors",
		"the checkpoint does not say norm_topk_prob: true is taken",
		"48 of 59 matrices keep the checkpoint's own codes and scales: they are not rounded a second time",
	} {
		require.Contains(t, r.Notes, note)
	}
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	require.Contains(t, pkg.Manifest.Provenance, layout.KeyValue{Key: "note", Value: r.Notes[len(r.Notes)-1]})
}

// Codes that encoding their values would not give again are taken over as they are: a group without -8.
func TestCodesAreNotRoundedAgain(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(ggufs + "olmoe-tiny-Q4_0.gguf")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.gguf")
	ckpt, err := checkpoint.Open(ggufs+"olmoe-tiny-Q4_0.gguf", checkpoint.Options{}, all.Formats()...)
	require.NoError(t, err)
	defer ckpt.Close()
	codes, scales := make([]int8, 32*64), make([]uint16, 32*2)
	require.NoError(t, ckpt.(checkpoint.Coder).ReadCodes(t.Context(), "blk.0.ffn_gate_exps.weight", 0, 1, codes, scales))
	at := strings.Index(string(file), string(block(scales[0], codes[:32])))
	require.Positive(t, at)
	require.Equal(t, at, strings.LastIndex(string(file), string(block(scales[0], codes[:32]))))
	odd := make([]int8, 32)
	for i := range odd {
		odd[i] = int8(i%13 - 5) // from -5 to 7
	}
	copy(file[at:], block(0x1234, odd))
	require.NoError(t, os.WriteFile(path, file, 0o666))

	again, err := quant.Encode(ir.W4Full32, 1, 32, (&quant.Matrix{DType: ir.W4Full32, N: 1, K: 32, Q: odd, Scale: []uint16{0x1234}, Factor: 1}).Values())
	require.NoError(t, err)
	require.NotEqual(t, odd, again.Q)

	dir, _ := packed(t, path, formatOptions(t, "w4full"))
	got := load(t, dir, hostPacking()).values[key("expert.gate.weight", 0, 0)]
	scales[0] = 0x1234
	copy(codes, odd)
	require.Equal(t, (&quant.Matrix{DType: ir.W4Full32, N: 32, K: 64, Q: codes, Scale: scales, Factor: 1}).Values(), got)
}

// block is a block of Q4_0.
func block(scale uint16, codes []int8) []byte {
	b := []byte{byte(scale), byte(scale >> 8)}
	for i, q := range codes[:16] {
		b = append(b, byte(q+8)|byte(codes[16+i]+8)<<4)
	}
	return b
}

// U06: codes of FP8 and their scales make the records that their products make; scales of activations are left aside.
func TestFP8(t *testing.T) {
	t.Parallel()
	plain, coded := smallToy(), smallToy()
	plain.change = func(ts map[string]checkpointtest.Tensor) { experts(ts, false) }
	coded.change = func(ts map[string]checkpointtest.Tensor) { experts(ts, true) }
	want, _ := packed(t, plain.write(t), formatOptions(t, "w4"))
	got, r := packed(t, coded.write(t), formatOptions(t, "w4"))
	require.Equal(t, sums(t, want), sums(t, got))
	require.Contains(t, r.Notes, "skipped, scales of activations, which are not rounded so here: model.layers.0.mlp.experts.0.up_proj.input_scale")
}

// experts makes the up projections numbers that E4M3 has, times the scale of one block: codes and scales, or products.
func experts(ts map[string]checkpointtest.Tensor, coded bool) {
	for name, x := range ts {
		if !strings.HasSuffix(name, ".up_proj.weight") {
			continue
		}
		var codes []byte
		var values []float32
		for i := range x.Shape[0] * x.Shape[1] {
			sign, exponent, mantissa := i%2, 1+i%14, i%8
			codes = append(codes, byte(sign<<7|exponent<<3|mantissa))
			v := float32(math.Ldexp(float64(8+mantissa), exponent-10)) * float32(1-2*sign)
			values = append(values, v*0.013)
		}
		if !coded {
			ts[name] = checkpointtest.F32(x.Shape, values...)
			continue
		}
		ts[name] = checkpointtest.Tensor{DType: "F8_E4M3", Shape: x.Shape, Data: codes}
		ts[name+"_scale_inv"] = checkpointtest.F32([]int{1, 1}, 0.013)
		if strings.Contains(name, "layers.0.mlp.experts.0.") {
			ts[strings.TrimSuffix(name, "weight")+"input_scale"] = checkpointtest.F32(nil, 1)
		}
	}
}
