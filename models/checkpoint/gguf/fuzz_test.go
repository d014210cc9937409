package gguf_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/models/checkpoint/gguf"
)

// FuzzOpen: no file causes a panic, and what a file lists can be read.
func FuzzOpen(f *testing.F) {
	tiny := checkpointtest.GGUF{
		Pairs: []pair{
			{"general.architecture", "deepseek2"}, {"deepseek2.block_count", uint32(1)}, {"deepseek2.embedding_length", uint32(4)},
			{"deepseek2.attention.head_count", uint32(2)}, {"deepseek2.attention.layer_norm_rms_epsilon", float32(1e-5)},
			{"deepseek2.rope.scaling.yarn_log_multiplier", float32(math.NaN())}, {"tokenizer.ggml.model", "llama"}, {"tokenizer.ggml.tokens", []string{"<unk>", "<s>", "a", "b", "ab"}},
			{"tokenizer.ggml.token_type", []int32{2, 3, 1, 1, 1}}, {"tokenizer.ggml.scores", []float32{0, 0, -2, -1, -3}}, {"tokenizer.ggml.bos_token_id", uint32(1)},
		},
		Tensors: []stored{
			checkpointtest.StoredF32("blk.0.attn_k_b.weight", []int{1, 2, 1}, 1, 2), checkpointtest.StoredF32("blk.0.attn_v_b.weight", []int{1, 1, 2}, 3, 4),
			{Name: "q", Type: 2, Shape: []int{1, 32}, Data: make([]byte, 18)}, {Name: "x", Type: 16, Shape: []int{256}, Data: make([]byte, 66)},
		},
	}
	f.Add(tiny.Bytes())
	for _, r := range refusals() {
		f.Add(r.file)
	}
	types, err := os.ReadFile("testdata/types.gguf")
	require.NoError(f, err)
	f.Add(types)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := gguf.OpenBytes(data)
		if err != nil {
			return
		}
		if _, err := m.Config(); err != nil && !strings.HasPrefix(err.Error(), m.Files()[0].Path) {
			t.Fatal(err)
		}
		m.(checkpoint.Noter).Notes()
		for _, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
			_, _, _ = m.(checkpoint.Companion).Companion(name)
		}
		for _, x := range m.Tensors() {
			n := 1
			for _, d := range x.Shape {
				n *= d
			}
			if n > 256*len(data) {
				t.Fatalf("%s %v in a file of %d bytes", x.DType, x.Shape, len(data))
			}
			if err := m.Read(t.Context(), x.Name, 0, x.Shape[0], make([]float32, n)); err != nil && x.Opaque == "" {
				t.Fatal(err)
			}
		}
	})
}
