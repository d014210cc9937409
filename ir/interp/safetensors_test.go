package interp_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
)

// readTensors reads a safetensors file: the length of a JSON header, the header
// with type, shape and offsets of each tensor, the bytes.
func readTensors(t testing.TB, path string) map[string]*interp.Tensor {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	end := 8 + binary.LittleEndian.Uint64(data)
	var header map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data[8:end], &header))
	tensors := map[string]*interp.Tensor{}
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var h struct {
			DType   string
			Shape   []int
			Offsets [2]int `json:"data_offsets"`
		}
		require.NoError(t, json.Unmarshal(raw, &h), name)
		b := data[end:][h.Offsets[0]:h.Offsets[1]]
		switch h.DType {
		case "F32":
			tensors[name] = interp.Floats(words(b, 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }), h.Shape...)
		case "BF16":
			x := interp.Floats(words(b, 2, func(b []byte) float32 {
				return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
			}), h.Shape...)
			x.Type.DType = ir.BF16
			tensors[name] = x
		case "I32":
			tensors[name] = interp.Ints(words(b, 4, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }), h.Shape...)
		default:
			t.Fatalf("%s: tensor %s has type %s", path, name, h.DType)
		}
	}
	return tensors
}

func words[E any](b []byte, size int, read func([]byte) E) []E {
	out := make([]E, len(b)/size)
	for i := range out {
		out[i] = read(b[i*size:])
	}
	return out
}

// requireClose fails with the worst element if got and want differ by more than tol.
func requireClose(t testing.TB, what string, got, want []float32, tol float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	worst, at := -1.0, 0
	for i, w := range want {
		d := math.Abs(float64(got[i]) - float64(w))
		if got[i] == w {
			d = 0
		}
		if d > worst || d != d {
			worst, at = d, i
		}
		if d != d {
			break
		}
	}
	if !(worst <= tol) {
		t.Fatalf("%s: element %d of %d: got %v, want %v, differs by %g, tolerance %g", what, at, len(want), got[at], want[at], worst, tol)
	}
}
