package static_test

import (
	"context"
	"errors"
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

// A row of a run that is to blame is told as the call's.
func TestBlamedRows(t *testing.T) {
	tailCall := &lower.Call{In: []lower.Buffer{f32s(count(1, 6)...)}, Weights: []lower.Buffer{buf([]float32{1}, ir.F32, 1)}, Out: []lower.Buffer{f32s(count(0, 6)...)}}
	bodyCall, _ := stepCase{pos: []int32{0, 1, 2, 3, 4, 5}, seq: []int32{0, 6}, past: []int32{0}, base: []int32{0}, parents: []int32{-1}}.call("f32")
	for _, c := range []struct {
		module, graph string
		call          *lower.Call
		row           int
		want          string
	}{
		{tail, "c0.tail", tailCall, 5, "dev: graph c0.tail: row 5: tier c0.tail@T2: row 1: it is NaN"},
		{body("f32", 0), "c0.body", bodyCall, 5, "dev: graph c0.body: row 5: tier c0.body@T2,S4: row 1: it is NaN"},
		{expert, "expert0", expertCall(record(0), record(0, 0, 1, 2, 3, 4, 5)), 5, "dev: graph expert0: expert 1 of 2: row 5: tier expert0@R2: row 1: it is NaN"},
		{expert, "expert0", expertCall(record(0, 1), record(0, 3, 4)), 4, "dev: graph expert0: expert 1 of 2: row 4: tier expert0@R2: row 1: it is NaN"},
	} {
		d := &recorder{fail: 2, err: &lower.RowError{Row: 1, Err: errors.New("it is NaN")}}
		err := program(t, d, c.module, c.graph).Run(context.Background(), c.call)
		require.EqualError(t, err, c.want)
		var row *lower.RowError
		require.ErrorAs(t, err, &row)
		require.Equal(t, c.row, row.Row)
	}
}
