// Package checkpointtest writes small checkpoints for tests.
package checkpointtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"estream/models/checkpoint"
)

// A Tensor is a tensor to write. Data is in the stored form, and is written as it is.
type Tensor struct {
	DType checkpoint.DType
	Shape []int
	Data  []byte
}

// F32 makes a tensor of float32.
func F32(shape []int, values ...float32) Tensor {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Tensor{"F32", shape, data}
}

// BF16 makes a tensor of bfloat16 from values, whose low bits are cut off.
func BF16(shape []int, values ...float32) Tensor {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
	}
	return Tensor{"BF16", shape, data}
}

// Write writes a safetensors file, with the data in the order of the names.
func Write(path string, tensors map[string]Tensor) error {
	type field struct {
		DType   checkpoint.DType `json:"dtype"`
		Shape   []int            `json:"shape"`
		Offsets [2]int           `json:"data_offsets"`
	}
	header := map[string]field{}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		at := len(data)
		data = append(data, t.Data...)
		header[name] = field{t.DType, append([]int{}, t.Shape...), [2]int{at, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	return WriteRaw(path, string(text), data)
}

// WriteRaw writes a safetensors file with that header, right or wrong.
func WriteRaw(path, header string, data []byte) error {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), data...)
	return os.WriteFile(path, file, 0o644)
}

// WriteShards writes shards and their index into the folder dir, and returns the names of the shards.
func WriteShards(dir string, shards ...map[string]Tensor) ([]string, error) {
	var names []string
	places := map[string]string{}
	for i, tensors := range shards {
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		if err := Write(filepath.Join(dir, name), tensors); err != nil {
			return nil, err
		}
		for t := range tensors {
			places[t] = name
		}
		names = append(names, name)
	}
	return names, WriteIndex(dir, places)
}

// WriteIndex writes an index that says in which shard a tensor is.
func WriteIndex(dir string, places map[string]string) error {
	text, err := json.MarshalIndent(map[string]any{"metadata": map[string]any{"total_size": 0}, "weight_map": places}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), text, 0o644)
}
