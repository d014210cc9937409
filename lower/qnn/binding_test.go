package qnn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

func TestFactors(t *testing.T) {
	b := binding{kind: factor, times: 16, to: ir.F16, bytes: 2}
	got, err := b.bind(nil, 0.25, make([]byte, 2))
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0x44}, got) // 4 in half precision
	_, err = b.bind(nil, 0x1p-20, make([]byte, 2))
	require.EqualError(t, err, "factor 1.5258789e-05 is beyond half precision: estream pack --backend qnn-htp --encoding bf16 CHECKPOINT NEW")
	_, err = b.bind(nil, 3, make([]byte, 2))
	require.EqualError(t, err, "factor is 3, want a power of two")
}

// TestMade compares what the host makes ready: bf16 numbers as f32, and angles of
// positions, stretched and scaled. None of it allocates.
func TestMade(t *testing.T) {
	var numbers []uint16
	for i := range 100 {
		numbers = append(numbers, quant.BF16(float32(i)-50))
	}
	operand, ready := lower.Wrap(numbers).Bytes(), lower.Wrap(make([]float32, 1024)).Bytes()
	b := binding{kind: plain, from: ir.BF16, to: ir.F32, bytes: 400, place: 64}
	got, err := b.bind(operand, 0, ready)
	require.NoError(t, err)
	for i, x := range lower.F32(got) {
		require.Equal(t, float32(i)-50, x)
	}
	_, err = b.bind(operand[:100], 0, ready)
	require.EqualError(t, err, "100 bytes, want 200")

	turn := ir.RoPEAttr{Theta: 100, Factor: 4, Low: 0, High: 2, Scale: 2}
	pos := []int32{0, 1, 7}
	a := binding{kind: sines, to: ir.F32, turn: turn, width: 2, bytes: 24}
	got, err = a.bind(lower.Wrap(pos).Bytes(), 0, ready)
	require.NoError(t, err)
	for i, p := range pos {
		for j, rate := range []float64{1, (0.1 + 0.1/4) / 2} { // pair 1 of 2 is halfway from 100^-0.5 to a quarter of it
			require.InDelta(t, 2*math.Sin(rate*float64(p)), lower.F32(got)[2*i+j], 1e-7)
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		_, _ = b.bind(operand, 0, ready)
		_, _ = a.bind(operand, 0, ready)
	}))
}
