package qnn_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn"
	"estream/lower/qnn/native"
)

// TestMain is the child of TestChild, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "qnn-child" {
		native.Serve()
	}
	os.Exit(m.Run())
}

const productText = `
graph g
  %1:x = input : f32[2,32]
  %2:w.weight = weight offset=0 : w4g32[8,32]
  %3:y = matmul %1 %2 : f32[2,8]
  return %3
`

func parse(t *testing.T, text string) *ir.Graph {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	return m.Graphs[0]
}

// TestBuffers gives a graph buffers that the library must not be given.
func TestBuffers(t *testing.T) {
	d, other := cpu(t), cpu(t)
	g := parse(t, productText)
	e, err := d.Compile(t.Context(), g, qnn.Packing())
	require.NoError(t, err)
	alloc := func(d *qnn.Device) lower.Mem {
		m, err := d.Alloc(4096, 64)
		require.NoError(t, err)
		return m
	}
	mem, foreign, freed := alloc(d), alloc(other), alloc(d)
	require.NoError(t, freed.Free())
	require.EqualError(t, freed.Free(), "qnn-cpu: memory is freed twice")
	for _, c := range []struct {
		name  string
		spoil func(x, w, y *lower.Buffer)
		want  string
	}{
		{"nothing", func(x, w, y *lower.Buffer) {}, ""},
		{"host memory", func(x, w, y *lower.Buffer) { x.Mem = lower.Wrap(make([]float32, 1024)) }, "x: memory lower.wrapped is not this device's"},
		{"no memory", func(x, w, y *lower.Buffer) { y.Mem = nil }, "output 0: memory <nil> is not this device's"},
		{"another device's memory", func(x, w, y *lower.Buffer) { w.Mem = foreign }, "w.weight: memory *qnn.mem is not this device's"},
		{"freed memory", func(x, w, y *lower.Buffer) { y.Mem = freed }, "output 0: its memory is freed"},
		{"an input at 32", func(x, w, y *lower.Buffer) { x.Off = 32 }, "x: bytes 32 to 288 of 4096, want a multiple of 64 within them"},
		{"an output beyond the end", func(x, w, y *lower.Buffer) { y.Off = 4096 }, "output 0: bytes 4096 to 4160 of 4096, want a multiple of 64 within them"},
		{"a short input", func(x, w, y *lower.Buffer) { x.Len = 128 }, "x: 128 bytes, want 256"},
		{"a short weight", func(x, w, y *lower.Buffer) { w.Len = 64 }, "w.weight: 64 bytes, want 128"},
		{"a short output", func(x, w, y *lower.Buffer) { y.Len = 32 }, "output 0: 32 bytes, want 64 for f32[2,8]"},
		{"another type", func(x, w, y *lower.Buffer) { x.Type = ir.Tensor(ir.F32, ir.N(4), ir.N(16)) }, "x: type is f32[4,16], want f32[2,32]"},
		{"no factor", func(x, w, y *lower.Buffer) { w.Factor = 0 }, "w.weight.factor: factor is 0, want a power of two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := lower.Buffer{Mem: mem, Off: 0, Len: 256, Type: g.Values[0].Type}
			w := lower.Buffer{Mem: mem, Off: 1024, Len: 256, Type: g.Values[1].Type, Factor: 1}
			y := lower.Buffer{Mem: mem, Off: 2048, Len: 64, Type: g.Values[2].Type}
			c.spoil(&x, &w, &y)
			err := e.Run(t.Context(), []lower.Buffer{x}, []lower.Buffer{w}, []lower.Buffer{y})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "qnn-cpu: graph g: "+c.want)
		})
	}
	require.EqualError(t, e.Run(t.Context(), nil, nil, nil), "qnn-cpu: graph g: 0 inputs, 0 weights, 0 outputs, want 1, 1, 1")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, e.Run(stopped, nil, nil, nil), context.Canceled)
	require.NoError(t, e.Close())
	require.EqualError(t, e.Close(), "a graph is closed twice")
	require.NoError(t, mem.Free())
	require.NoError(t, foreign.Free())
}

func TestCompileErrors(t *testing.T) {
	d := cpu(t)
	for _, c := range []struct{ text, packing, want string }{
		{"graph g\n  %1:x = input : f32[T,4]\n  %2 = silu %1 : f32[T,4]\n  return %2", "qnn", "qnn-cpu: graph g: %1:x = input: f32[T,4] has an extent that is no number: bind it to a tier: unsupported"},
		{productText, "host", "qnn-cpu: graph g: %2:w.weight = weight is packed as host, which qnn-cpu does not read: estream repack --backend qnn-cpu PACKAGE NEW"},
		{"graph g\n  %1:x = input : f32[2,4]\n  %2 = topk %1 k=1 : i32[2,1]\n  return %2", "qnn", "qnn-cpu: graph g: topk : i32[2,1] of f32[2,4]: there is no row for this operator: its graph stays on the host: unsupported"},
	} {
		_, err := d.Compile(t.Context(), parse(t, c.text), lower.Packing{Name: c.packing})
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, lower.ErrUnsupported)
	}
	for _, align := range []int64{0, 3, 1 << 20} {
		_, err := d.Alloc(64, align)
		require.ErrorContains(t, err, "cannot allocate 64 bytes")
	}
}
