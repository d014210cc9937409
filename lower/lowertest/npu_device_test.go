package lowertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

const npuText = `
graph g
  %1:x = input : f32[2,32]
  %2:w = weight offset=0 : w4g32[8,32]
  %3:y = matmul %1 %2 : f32[2,8]
  return %3
`

func npuParse(t *testing.T, text string) *ir.Graph {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	return m.Graphs[0]
}

// TestNPURefusesBuffers gives a graph buffers that a device cannot take.
func TestNPURefusesBuffers(t *testing.T) {
	d := NewNPU()
	p := d.Packings()[0]
	g := npuParse(t, npuText)
	e, err := d.Compile(context.Background(), g, p)
	require.NoError(t, err)
	alloc := func(d *NPU) lower.Mem {
		m, err := d.Alloc(4096, 64)
		require.NoError(t, err)
		return m
	}
	mem, foreign, freed := alloc(d), alloc(NewNPU()), alloc(d)
	require.NoError(t, freed.Free())
	require.EqualError(t, freed.Free(), "npu: memory 2 is freed twice")
	for _, c := range []struct {
		name  string
		spoil func(x, w, y *lower.Buffer)
		want  string
	}{
		{"nothing", func(x, w, y *lower.Buffer) {}, ""},
		{"a weight at 64", func(x, w, y *lower.Buffer) { w.Off = 1024 + 64 }, ""},
		{"host memory", func(x, w, y *lower.Buffer) { x.Mem = hostMem(make([]byte, 4096)) }, "npu: graph g: %1:x: memory lowertest.hostMem is not this device's"},
		{"no memory", func(x, w, y *lower.Buffer) { y.Mem = nil }, "npu: graph g: %3:y: memory <nil> is not this device's"},
		{"another device's memory", func(x, w, y *lower.Buffer) { w.Mem = foreign }, "npu: graph g: %2:w: memory lowertest.npuMem is not this device's"},
		{"freed memory", func(x, w, y *lower.Buffer) { y.Mem = freed }, "npu: graph g: %3:y: memory 2 is freed"},
		{"an input at 64", func(x, w, y *lower.Buffer) { x.Off = 64 }, "npu: graph g: %1:x: bytes 64 to 320 of 4096, want a multiple of 128 within them"},
		{"a weight at 32", func(x, w, y *lower.Buffer) { w.Off = 1024 + 32 }, "npu: graph g: %2:w: bytes 1056 to 1248 of 4096, want a multiple of 64 within them"},
		{"an output beyond the end", func(x, w, y *lower.Buffer) { y.Off = 4096 }, "npu: graph g: %3:y: bytes 4096 to 4160 of 4096, want a multiple of 128 within them"},
		{"more bytes", func(x, w, y *lower.Buffer) { x.Len += 128 }, "npu: graph g: %1:x: 384 bytes, want 256 for f32[2,32]"},
		{"another type", func(x, w, y *lower.Buffer) { x.Type = f32(n(4), n(16)) }, "npu: graph g: %1:x: type is f32[4,16], want f32[2,32]"},
		{"a row that is not written", func(x, w, y *lower.Buffer) { poison(x.Bytes()[128:136]) }, "npu: graph g: %1:x: bytes at 128 of 256 were not written since the last run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clear(mem.Bytes())
			x := lower.Buffer{Mem: mem, Off: 0, Len: 256, Type: g.Values[0].Type}
			w := lower.Buffer{Mem: mem, Off: 1024, Len: 192, Type: g.Values[1].Type, Factor: 1}
			y := lower.Buffer{Mem: mem, Off: 2048, Len: 64, Type: g.Values[2].Type}
			c.spoil(&x, &w, &y)
			err := e.Run(context.Background(), []lower.Buffer{x}, []lower.Buffer{w}, []lower.Buffer{y})
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NotEqual(t, lower.F32(x.Bytes())[0], lower.F32(x.Bytes())[0], "an input stays as it was")
		})
	}
	require.NoError(t, e.Close())
	require.EqualError(t, e.Close(), "npu: a graph is closed twice")
}

func TestNPURefusesGraphs(t *testing.T) {
	d := NewNPU()
	for _, c := range []struct{ text, want string }{
		{"graph g\n  %1:x = input : f32[T,4]\n  %2 = silu %1 : f32[T,4]\n  return %2", "npu: graph g: %1: f32[T,4] has an extent that is no number: unsupported"},
		{"graph g\n  %1:x = input : f32[2,4]\n  %2 = topk %1 k=1 : i32[2,1]\n  return %2", "npu: graph g: npu: topk of [f32[2,4]]: no such operator: unsupported"},
		{"graph g\n  %1:x = input : a8[2,32]\n  %2:w = weight offset=0 : w8[4,32]\n  %3 = matmul %1 %2 : f32[2,4]\n  return %3", "npu: graph g: npu: matmul of [a8[2,32] w8[4,32]]: operand type: unsupported"},
		{"graph g\n  %1:x = input : f32[2,32]\n  %2:w = weight offset=0 : w4full32[4,32]\n  %3 = matmul %1 %2 : f32[2,4]\n  return %3", "npu: graph g: npu: matmul of [f32[2,32] w4full32[4,32]]: operand type: unsupported"},
	} {
		_, err := d.Compile(context.Background(), npuParse(t, c.text), d.Packings()[0])
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, lower.ErrUnsupported)
	}
	_, err := d.Compile(context.Background(), npuParse(t, npuText), lower.Packing{Name: "host"})
	require.EqualError(t, err, "npu: graph g: packing host: want npu.kn: unsupported")
}
