package runtime_test

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
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

// TestLogitsThatAreNoNumbers packs a head that overflows.
func TestLogitsThatAreNoNumbers(t *testing.T) {
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
		if x.Name == "lm_head.weight" {
			for i := range values {
				values[i] = math.MaxFloat32
			}
		}
		tensors[x.Name] = checkpointtest.F32(x.Shape, values...)
	}
	require.NoError(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors))
	copyFile(t, filepath.Join(tiny, "config.json"), filepath.Join(dir, "config.json"))
	m := open(t, packed(t, dir, "f32"), runtime.Options{})
	_, err = m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1, 2, 3}}})
	require.ErrorContains(t, err, "head: token 2: logit 0 is ")
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
