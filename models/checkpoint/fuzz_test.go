package checkpoint_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// FuzzOpen: no folder causes a panic, and what its file lists can be read, the last row alone too.
func FuzzOpen(f *testing.F) {
	dir := tempDir(f)
	weights, config := filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "config.json")
	add := func(text string, x tensors) {
		must(f, checkpointtest.Write(weights, x))
		data, err := os.ReadFile(weights)
		must(f, err)
		f.Add(text, data)
	}
	for _, c := range scaled {
		add(c.config, tensors{"w": c.codes, "w" + c.suffix: c.scales})
	}
	all := tensors{}
	for _, d := range []checkpoint.DType{"F64", "BF16", "F8_E4M3", "F8_E8M0", "F6_E2M3", "F4", "I64", "C64"} {
		all[string(d)] = random(d, 3, 8)
	}
	add(`{"quantization_config": {"weight_block_size": [2, 9223372036854775807]}}`, all)
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		must(t, os.WriteFile(config, []byte(text), 0o666))
		must(t, os.WriteFile(weights, data, 0o666))
		c, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Config()
		for _, x := range c.Tensors() {
			if x.Opaque != "" {
				continue
			}
			rows, n := 1, 1
			for i, d := range x.Shape {
				if n *= d; i == 0 {
					rows = d
				}
			}
			if n > 2*len(data) {
				t.Fatalf("%s %v in a file of %d bytes", x.DType, x.Shape, len(data))
			}
			values := make([]float32, n)
			must(t, c.Read(t.Context(), x.Name, 0, rows, values))
			if n == 0 {
				continue
			}
			last := make([]float32, n/rows)
			must(t, c.Read(t.Context(), x.Name, rows-1, 1, last))
			for i, v := range values[n-len(last):] {
				if math.Float32bits(v) != math.Float32bits(last[i]) {
					t.Fatalf("%s %v: element %d of the last row is %v alone, %v among all", x.DType, x.Shape, i, last[i], v)
				}
			}
		}
	})
}
