package static_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

const tail = `
graph c0.tail on dev
  %1:x = input : f32[T,1]
  %2:gain = weight offset=64 : f32[1]
  %3:y = mul %1 %2 : f32[T,1]
  return %3

graph c0.tail@T4 on dev
  %1:x = input : f32[4,1]
  %2:gain = weight offset=64 : f32[1]
  %3:y = mul %1 %2 : f32[4,1]
  return %3

graph c0.tail@T2 on dev
  %1:x = input : f32[2,1]
  %2:gain = weight offset=64 : f32[1]
  %3:y = mul %1 %2 : f32[2,1]
  return %3
`

func TestRows(t *testing.T) {
	const gain = "  gain at 0, 4 bytes, factor 0\n"
	for _, c := range []struct {
		name string
		rows int
		log  string
	}{
		{"none", 0, ""},
		{"one", 1, "c0.tail@T2\n  x [1 0]\n" + gain},
		{"the smaller tier", 2, "c0.tail@T2\n  x [1 2]\n" + gain},
		{"one over", 3, "c0.tail@T4\n  x [1 2 3 0]\n" + gain},
		{"the larger tier", 4, "c0.tail@T4\n  x [1 2 3 4]\n" + gain},
		{"one over the largest", 5, "c0.tail@T4\n  x [1 2 3 4]\n" + gain + "c0.tail@T2\n  x [5 0]\n" + gain},
		{"three chunks", 11, "c0.tail@T4\n  x [1 2 3 4]\n" + gain + "c0.tail@T4\n  x [5 6 7 8]\n" + gain + "c0.tail@T4\n  x [9 10 11 0]\n" + gain},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &recorder{}
			p := program(t, d, tail, "c0.tail")
			y := append(make([]float32, c.rows), 7) // one row more than the call has
			call := &lower.Call{
				In:      []lower.Buffer{f32s(count(1, c.rows)...)},
				Weights: []lower.Buffer{buf([]float32{1}, ir.F32, 1)},
				Out:     []lower.Buffer{f32s(y...)},
			}
			call.Out[0].Type.Dims[0], call.Out[0].Len = ir.N(c.rows), int64(4*c.rows)
			require.NoError(t, p.Run(context.Background(), call))
			require.Equal(t, c.log, d.log.String())
			require.Equal(t, append(count(101, c.rows), 7), lower.F32(call.Out[0].Mem.Bytes()))
		})
	}
}

func TestRunsEndWithTheirContext(t *testing.T) {
	d := &recorder{}
	p := program(t, d, tail, "c0.tail")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	call := &lower.Call{In: []lower.Buffer{f32s(1)}, Weights: []lower.Buffer{buf([]float32{1}, ir.F32, 1)}, Out: []lower.Buffer{f32s(0)}}
	require.ErrorIs(t, p.Run(ctx, call), context.Canceled)
	require.Empty(t, d.log.String())
}

func TestDeviceErrorsNameTheTier(t *testing.T) {
	p := program(t, &recorder{fail: 2}, tail, "c0.tail")
	call := &lower.Call{In: []lower.Buffer{f32s(count(1, 6)...)}, Weights: []lower.Buffer{buf([]float32{1}, ir.F32, 1)}, Out: []lower.Buffer{f32s(count(0, 6)...)}}
	require.EqualError(t, p.Run(context.Background(), call), "dev: graph c0.tail: tier c0.tail@T2: the device is gone")
}
