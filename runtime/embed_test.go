package runtime_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/pager/layout"
	"estream/pager/pagertest"
	"estream/runtime"
)

// TestEmbeddings reads rows of a table of several blocks, among them rows that
// stand across two: whatever the chunks, each block is read once and each token
// gets its own row.
func TestEmbeddings(t *testing.T) {
	from, table := largeVocabulary(t, 1300)
	dir := packed(t, from, "w8")
	region := open(t, dir, runtime.Options{}).Manifest().Rows[0]
	require.Len(t, region.Blocks, 3)
	across := int32(layout.BlockSize / region.RowStride)
	require.NotZero(t, layout.BlockSize%region.RowStride)
	prompts := [][]int32{{across, 0, across, across - 1, across}, {1299, across, across + 1, 2*across + 1, 5}, {across, 2*across + 1}}
	for _, chunk := range []int{0, 1, 2, 3, 5} {
		var rows []float32
		f := &faulty{dir: dir, source: inMemory(t, dir)}
		m, src := f.open(t, runtime.Options{Chunk: chunk, Taps: []string{"embed"}, Tap: func(x runtime.Tap) {
			rows = slices.Clone(lower.F32(x.Buffer.Bytes()))
		}}, filepath.Join(dir, layout.DenseName))
		run(t, m, runtime.Batch{Prompts: prompts})
		for i := range region.Blocks {
			off, _ := region.Block(i)
			require.Equal(t, 1, readsOf(src, off), "chunk %d: reads of block %d", chunk, i)
		}
		for i, id := range slices.Concat(prompts...) {
			want, got := table[int(id)*64:][:64], rows[i*64:][:64]
			most := 0.0
			for _, x := range want {
				most = max(most, math.Abs(float64(x)))
			}
			for k := range want {
				if d := math.Abs(float64(want[k] - got[k])); !(d <= most/127) {
					t.Fatalf("chunk %d: element %d of token %d, id %d, is %v, want %v within an int8 step", chunk, k, i, id, got[k], want[k])
				}
			}
		}
	}
}

// TestEmbeddingFault flips a bit in the middle block of a table.
func TestEmbeddingFault(t *testing.T) {
	from, _ := largeVocabulary(t, 1300)
	dir := packed(t, from, "w8")
	region := open(t, dir, runtime.Options{}).Manifest().Rows[0]
	off, _ := region.Block(1)
	f := &faulty{dir: dir, source: inMemory(t, dir)}
	m, _ := f.open(t, runtime.Options{}, filepath.Join(dir, layout.DenseName), pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: off + 7, Times: -1})
	run(t, m, runtime.Batch{Prompts: [][]int32{{1, 1299}}}) // in the other blocks
	_, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1, 700}}})
	require.ErrorContains(t, err, "table embed.weight, block 1 at offset ")
}

// largeVocabulary is the tiny checkpoint with as many rows of embeddings and of
// the head as asked for, no two alike.
func largeVocabulary(t *testing.T, rows int) (dir string, table []float32) {
	t.Helper()
	ckpt, err := checkpoint.Open(tiny, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer ckpt.Close()
	tensors := map[string]checkpointtest.Tensor{}
	for _, x := range ckpt.Tensors() {
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		values := make([]float32, n)
		require.NoError(t, ckpt.Read(t.Context(), x.Name, 0, x.Shape[0], values))
		if x.Name == "model.embed_tokens.weight" || x.Name == "lm_head.weight" {
			few := values
			values = make([]float32, rows*x.Shape[1])
			for i := range values {
				values[i] = few[i%len(few)] * float32(1+i/len(few))
			}
			x.Shape = []int{rows, x.Shape[1]}
		}
		if x.Name == "model.embed_tokens.weight" {
			table = values
		}
		tensors[x.Name] = checkpointtest.F32(x.Shape, values...)
	}
	dir = t.TempDir()
	require.NoError(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors))
	text, err := ckpt.Config()
	require.NoError(t, err)
	config := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &config))
	config["vocab_size"] = rows
	text, err = json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o644))
	return dir, table
}
