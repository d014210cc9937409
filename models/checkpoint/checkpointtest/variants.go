package checkpointtest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Variant is settings of a family, weights that follow from their names, and what
// PyTorch made of them: testdata/variants/make.py says how.
type Variant struct {
	Name    string
	Config  json.RawMessage
	Tensors map[string][]int // extents
	Salt    int
	IDs     []int32
	Logits  [][]float32 // of every fourth position
}

// Variants reads variants.json.
func Variants(path string) ([]Variant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var vs []Variant
	return vs, json.Unmarshal(text, &vs)
}

// Write writes the variant's checkpoint into a folder.
func (v Variant) Write(folder string) error {
	tensors := map[string]Tensor{}
	for name, shape := range v.Tensors {
		tensors[name] = F32(shape, v.values(name, shape)...)
	}
	if err := os.WriteFile(filepath.Join(folder, "config.json"), v.Config, 0o644); err != nil {
		return err
	}
	return Write(filepath.Join(folder, "model.safetensors"), tensors)
}

// values are a tensor's elements: splitmix64 from the hash of its name, in [-1,1),
// scaled by what the tensor is.
func (v Variant) values(name string, shape []int) []float32 {
	n, last := 1, float64(shape[len(shape)-1])
	for _, d := range shape {
		n *= d
	}
	mean, scale := 0.0, 2/math.Sqrt(last)
	switch {
	case strings.HasSuffix(name, "expert_bias"):
		scale = 0.5
	case len(shape) == 1:
		mean, scale = 1, 0.4
	case strings.Contains(name, "embed_tokens"), len(shape) == 3:
		scale = 1
	case strings.HasSuffix(name, ".gate.weight"):
		scale = 4 / math.Sqrt(last)
	}
	h := fnv.New64a()
	h.Write([]byte(strconv.Itoa(v.Salt) + " " + name))
	state, out := h.Sum64(), make([]float32, n)
	for i := range out {
		state += 0x9e3779b97f4a7c15
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		out[i] = float32(mean + scale*(float64((z^z>>31)>>40)/(1<<23)-1))
	}
	return out
}
