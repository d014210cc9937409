package gguf_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// Codes and scales of Q4_0 are those of a w4full matrix whose values are what Read gives, by any rows.
func TestCodes(t *testing.T) {
	c := open(t, "testdata/types.gguf")
	coder := c.(checkpoint.Coder)
	values, shape := read(t, c, "Q4_0")
	rows, width := shape[0], shape[1]
	require.Equal(t, ir.W4Full32, coder.Encoding("Q4_0"))
	for _, other := range []string{"Q4_1", "F16", "none"} {
		require.Equal(t, ir.Invalid, coder.Encoding(other), other)
	}
	for row := range rows {
		for n := 1; n <= rows-row; n++ {
			m := quant.Matrix{DType: ir.W4Full32, N: n, K: width, Factor: 1, Q: make([]int8, n*width), Scale: make([]uint16, n*width/32)}
			require.NoError(t, coder.ReadCodes(t.Context(), "Q4_0", row, n, m.Q, m.Scale))
			require.Equal(t, values[row*width:(row+n)*width], m.Values())
		}
	}
}

func TestCodesRefused(t *testing.T) {
	g := small()
	block := append([]byte{0, 0x7c}, make([]byte, 16)...) // the scale is infinite
	g.Tensors = append(g.Tensors, checkpointtest.Stored{Name: "q", Type: 2, Shape: []int{1, 32}, Data: block}, checkpointtest.Stored{Name: "v", Type: 2, Shape: []int{32}, Data: block})
	path := filepath.Join(t.TempDir(), "x.gguf")
	require.NoError(t, g.Write(path))
	c := open(t, path).(checkpoint.Coder)
	codes, scales := make([]int8, 32), make([]uint16, 1)
	require.EqualError(t, c.ReadCodes(t.Context(), "q", 0, 1, codes, scales), path+`: tensor "q": a scale is +Inf`)
	require.EqualError(t, c.ReadCodes(t.Context(), "q", 0, 1, codes, nil), path+`: tensor "q": 0 scales for 32 codes`)
	require.EqualError(t, c.ReadCodes(t.Context(), "q", 1, 1, codes, scales), path+`: tensor "q": rows [1,1+1) of 1`)
	require.EqualError(t, c.ReadCodes(t.Context(), "a", 0, 1, codes, scales), "checkpoint "+path+`: no codes of a tensor "a"`)
	require.Equal(t, ir.Invalid, c.Encoding("v"), "a vector is no matrix")
	dst := make([]float32, 4)
	require.EqualError(t, open(t, path).Read(t.Context(), "v", 4, 4, dst), path+`: tensor "v": elements [4,4+4) are not whole blocks of 32`)
}
