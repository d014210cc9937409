package gguf_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
	"estream/models/checkpoint"
	"estream/models/checkpoint/gguf"
)

const goldens = "../../../testdata/gguf/"

func open(t testing.TB, path string) checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{}, checkpoint.SafeTensors, gguf.Format)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// read returns all values of a tensor and its shape.
func read(t testing.TB, c checkpoint.Checkpoint, name string) ([]float32, []int) {
	t.Helper()
	for _, x := range c.Tensors() {
		if x.Name != name {
			continue
		}
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		dst := make([]float32, n)
		require.NoError(t, c.Read(t.Context(), name, 0, x.Shape[0], dst))
		return dst, x.Shape
	}
	t.Fatalf("no tensor %s", name)
	return nil, nil
}

// golden is what another reader (Python's gguf) says of a file.
type golden struct {
	Config json.RawMessage
	Types  map[string]checkpoint.DType
}

func readGoldens(t testing.TB) map[string]golden {
	t.Helper()
	text, err := os.ReadFile(goldens + "goldens.json")
	require.NoError(t, err)
	files := map[string]golden{}
	require.NoError(t, json.Unmarshal(text, &files))
	require.Len(t, files, 7)
	return files
}

// Types, and the first row of three tensors of each file, bit for bit.
func TestGoldenTensors(t *testing.T) {
	rows := open(t, goldens+"goldens.safetensors")
	for file, want := range readGoldens(t) {
		c := open(t, goldens+file)
		types := map[string]checkpoint.DType{}
		for _, x := range c.Tensors() {
			types[x.Name] = x.DType
		}
		for name, d := range want.Types {
			require.Equal(t, d, types[name], "%s %s", file, name)
		}
		checked := 0
		for _, x := range rows.Tensors() {
			name, ok := strings.CutPrefix(strings.TrimSuffix(x.Name, ".row0"), file+".")
			if !ok || !strings.HasSuffix(x.Name, ".row0") {
				continue
			}
			want, _ := read(t, rows, x.Name)
			got, _ := read(t, c, name)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s %s, element %d: got %v, want %v", file, name, i, got[i], want[i])
				}
			}
			checked++
		}
		require.Equal(t, 3, checked, file)
	}
}

// The config made from metadata says what the config.json says that the file was made from.
func TestGoldenConfig(t *testing.T) {
	for file, want := range readGoldens(t) {
		text, err := open(t, goldens+file).Config()
		require.NoError(t, err)
		got, err := models.ReadConfig(text)
		require.NoError(t, err, string(text))
		ref, err := models.ReadConfig(want.Config)
		require.NoError(t, err)
		got.Settings, ref.Settings = nil, nil
		require.Equal(t, ref, got, file)
	}
}
