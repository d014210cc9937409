package pack

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/all"
	"estream/models/checkpoint"
	"estream/runtime"
)

// Packages of GGUF files of several types give the logits that PyTorch gives with
// the values that Python's gguf decodes, of the last four positions.
func TestGoldenGGUF(t *testing.T) {
	t.Parallel()
	golden, err := checkpoint.Open(ggufs+"goldens.safetensors", checkpoint.Options{}, all.Formats()...)
	require.NoError(t, err)
	defer golden.Close()
	read := func(name string, n int) []float32 {
		for _, x := range golden.Tensors() {
			if x.Name == name {
				values := make([]float32, n*x.Shape[len(x.Shape)-1])
				require.NoError(t, golden.Read(t.Context(), name, 0, x.Shape[0], values))
				return values
			}
		}
		t.Fatalf("no golden %s", name)
		return nil
	}
	files, err := filepath.Glob(ggufs + "*.gguf")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		name := filepath.Base(file)
		var prompt []int32
		for _, id := range read(name+".input_ids", 1) {
			prompt = append(prompt, int32(id))
		}
		want := read(name+".logits", 4)
		dir, _ := packed(t, file, formatOptions(t, "f32"))
		m, err := runtime.Open(t.Context(), dir, runtime.Options{})
		require.NoError(t, err)
		res, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{prompt}, Logits: runtime.All})
		require.NoError(t, err)
		require.NoError(t, m.Close())
		got := res.Logits[len(res.Logits)-len(want):]
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-4, "%s, element %d, in another order of f32 sums", name, i)
		}
	}
}
