package quant

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// TestFullIsQ4_0 compares with rows that the gguf package quantized: each line of
// the file is a weight and its value after Q4_0.
func TestFullIsQ4_0(t *testing.T) {
	text, err := os.ReadFile("testdata/q4_0.txt")
	require.NoError(t, err)
	var in, want []float32
	for line := range strings.Lines(string(text)) {
		var x, y float32
		_, err := fmt.Sscan(line, &x, &y)
		require.NoError(t, err, line)
		in, want = append(in, x), append(want, y)
	}
	m, err := Encode(ir.W4Full32, len(in)/32, 32, in)
	require.NoError(t, err)
	require.Equal(t, want, m.Values())
}

func TestFull(t *testing.T) {
	minusZero := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		name  string
		w     []float32
		scale uint16
		q     []int8
	}{
		{"negative top", []float32{-8, 7, 7.4, 7.5, -7.5, 0.49, 0.5, -0.5, -0.51}, F16(1), []int8{-8, 7, 7, 7, -7, 0, 1, 0, -1}},
		{"positive top", []float32{8, -7, -7.5, 7.5, 1}, F16(-1), []int8{-8, 7, 7, -7, -1}},
		{"first of equal magnitudes", []float32{1, 4, -4}, F16(-0.5), []int8{-2, -8, 7}},
		{"zeros", nil, 0x8000, nil},
		{"negative zeros", []float32{minusZero, minusZero}, 0x8000, nil},
		{"scale underflows", []float32{-1e-9, 5e-10}, 0, []int8{-8, 4}},
		{"inverse overflows", []float32{-1e-44, 1e-45}, 0, nil},
		{"scale is subnormal", []float32{-8 * 0x1p-24, 0x1p-24}, 1, []int8{-8, 1}},
	} {
		for _, d := range []ir.DType{ir.W4Full32, ir.W4Full64, ir.W4Full128} {
			g := d.Group(0)
			w, q := make([]float32, g), make([]int8, g)
			copy(w, c.w)
			copy(q, c.q)
			m, err := Encode(d, 1, g, w)
			require.NoError(t, err, c.name)
			require.Equal(t, []uint16{c.scale}, m.Scale, c.name)
			require.Equal(t, q, m.Q, c.name)
			require.Equal(t, float32(1), m.Factor)
		}
	}
}
