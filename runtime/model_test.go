package runtime_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/pager/layout"
	"estream/runtime"
)

func TestClosed(t *testing.T) {
	m, err := runtime.Open(t.Context(), packed(t, tiny, "w4"), runtime.Options{})
	require.NoError(t, err)
	b := runtime.Batch{Prompts: [][]int32{{1, 2, 3}}}
	inside, finished := make(chan struct{}), make(chan error, 1)
	b.Each = func(int, []float32) error {
		close(inside)
		time.Sleep(20 * time.Millisecond)
		return nil
	}
	go func() {
		_, err := m.Run(t.Context(), b)
		finished <- err
	}()
	<-inside
	require.NoError(t, m.Close(), "Close waits for the run")
	require.NoError(t, <-finished)
	require.NoError(t, m.Close())
	b.Each = nil
	_, err = m.Run(t.Context(), b)
	require.ErrorIs(t, err, runtime.ErrClosed)
	_, err = m.Plan(b)
	require.ErrorIs(t, err, runtime.ErrClosed)
}

func TestOptionsRefused(t *testing.T) {
	dir := packed(t, tiny, "w4")
	for want, o := range map[string]runtime.Options{
		"options: -1 readers, want 0 (chosen) to 256":    {Readers: -1},
		"options: 257 readers, want 0 (chosen) to 256":   {Readers: 257},
		"options: 5000 threads, want 0 (chosen) to 1024": {Threads: 5000},
		"options: memory -1":                             {Memory: -1},
		"schedule Schedule(9): no such thing":            {Schedule: 9},
	} {
		_, err := runtime.Open(t.Context(), dir, o)
		require.ErrorContains(t, err, want)
	}
	m := open(t, dir, runtime.Options{Banks: 1 << 40})
	p, err := m.Plan(runtime.Batch{Prompts: [][]int32{{1}}})
	require.NoError(t, err)
	require.LessOrEqual(t, p.Geometry.Banks, 2*8, "no more banks than two layers fill")
	_, err = m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1}}, Logits: 9})
	require.EqualError(t, err, "the batch asks for logits 9, want Last, All or None")
}

// scaled packs the tiny model with the tensors of a prefix multiplied.
func scaled(t *testing.T, tensor string, by float32, encoding string) *runtime.Model {
	t.Helper()
	c, err := checkpoint.Open(tiny, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer c.Close()
	dir, tensors := t.TempDir(), map[string]checkpointtest.Tensor{}
	for _, x := range c.Tensors() {
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		values := make([]float32, n)
		require.NoError(t, c.Read(t.Context(), x.Name, 0, x.Shape[0], values))
		if strings.HasPrefix(x.Name, tensor) {
			for i := range values {
				values[i] *= by
			}
		}
		tensors[x.Name] = checkpointtest.F32(x.Shape, values...)
	}
	require.NoError(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors))
	copyFile(t, filepath.Join(tiny, "config.json"), filepath.Join(dir, "config.json"))
	return open(t, packed(t, dir, encoding), runtime.Options{Chunk: 2})
}

// TestNoNumbers overflows f32 in one place at a time: the error names the layer,
// the expert and the token, whatever the chunk.
func TestNoNumbers(t *testing.T) {
	b := runtime.Batch{Prompts: [][]int32{{1, 2, 3, 4, 5}}, Logits: runtime.All}
	for _, c := range []struct{ tensor, encoding, want string }{
		{"lm_head.weight", "f32", `^head: token \d: logit \d+ is .*: the weights are too large`},
		{"model.layers.1.mlp.gate.weight", "f32", `^layer 1: token \d: graph c0.route: .*topk: row \d: value \d is NaN$`},
		{"model.layers.1.post_attention_layernorm.weight", "w8", `^layer 1: token \d: graph c0.(body|route): .*row \d: `},
	} {
		_, err := scaled(t, c.tensor, 1e38, c.encoding).Run(t.Context(), b)
		require.Error(t, err, c.tensor)
		require.Regexp(t, c.want, err.Error())
	}
	m := scaled(t, "model.layers.1.mlp.experts.", 1e25, "w8")
	_, err := m.Run(t.Context(), b)
	require.Error(t, err)
	require.Regexp(t, `^layer 1: expert \d: token \d: graph expert0: expert \d of \d: row \d: `, err.Error())
}

// TestCompanion: what the manifest lists is read and checked, nothing else is.
func TestCompanion(t *testing.T) {
	dir := packed(t, trained, "w4")
	want, err := os.ReadFile(filepath.Join(trained, "tokenizer.json"))
	require.NoError(t, err)
	got, err := open(t, dir, runtime.Options{}).Companion("tokenizer.json")
	require.NoError(t, err)
	require.Equal(t, want, got)

	got[len(got)/2] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), got, 0o644))
	_, err = open(t, dir, runtime.Options{}).Companion("tokenizer.json")
	require.ErrorContains(t, err, "tokenizer.json: CRC-32C is ")

	unlisted := edited(t, dir, func(m *layout.Manifest) {
		for i, f := range m.Files {
			if f.Name == "tokenizer.json" {
				m.Files = append(m.Files[:i], m.Files[i+1:]...)
				break
			}
		}
	})
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(unlisted, "tokenizer.json")))
	m := open(t, unlisted, runtime.Options{})
	for _, name := range []string{"tokenizer.json", layout.ExpertsName, "../x"} {
		_, err = m.Companion(name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
}
