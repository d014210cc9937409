package gguf_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/gguf"
)

// Random blocks of every type are what Python's gguf makes of them, bit for bit (testdata/make_types.py).
func TestDecode(t *testing.T) {
	c, reference := open(t, "testdata/types.gguf"), open(t, "testdata/types.safetensors")
	var types []checkpoint.DType
	for _, x := range reference.Tensors() {
		types = append(types, checkpoint.DType(x.Name))
		want, shape := read(t, reference, x.Name)
		got, gotShape := read(t, c, x.Name)
		require.Equal(t, shape, gotShape, x.Name)
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) && !(got[i] != got[i] && want[i] != want[i]) {
				t.Fatalf("%s, element %d: got %v, want %v", x.Name, i, got[i], want[i])
			}
		}
	}
	require.Equal(t, gguf.Format.DTypes, types, "a type without a test")
}
