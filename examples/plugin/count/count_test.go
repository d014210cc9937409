package count_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/plugin/count"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/lowertest"
)

// It is as good a backend as the one below it.
func TestConformance(t *testing.T) {
	lowertest.RunAll(t, count.New(host.New(host.Options{Threads: 2}), io.Discard), lowertest.Options{
		Half: lowertest.Tolerance{Rel: 1.0 / 128, Why: "queries and weights of attention are rounded to bfloat16 where keys and values are"},
	})
}

func TestCounts(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse("\ngraph a\n  %1:x = input : f32[T,2]\n  %2 = silu %1 : f32[T,2]\n  return %2\n\ngraph b\n  %1:x = input : f32[T,2]\n  %2 = silu %1 : f32[T,2]\n  return %2\n", ops)
	require.NoError(t, err)
	var out bytes.Buffer
	b := count.New(host.New(host.Options{}), &out)
	c, err := b.Compile(context.Background(), m, b.Packings()[0])
	require.NoError(t, err)
	x := lower.Buffer{Mem: lower.Wrap(make([]float32, 2)), Len: 8, Type: ir.Tensor(ir.F32, ir.N(1), ir.N(2))}
	for range 3 {
		p, err := c.Program("b")
		require.NoError(t, err)
		require.NoError(t, p.Run(context.Background(), &lower.Call{In: []lower.Buffer{x}, Out: []lower.Buffer{x}}))
	}
	_, err = c.Program("a")
	require.NoError(t, err)
	_, err = c.Program("none")
	require.Error(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, "called b            3 times\n", out.String())
	_, err = b.Load(context.Background(), m, b.Packings()[0], nil)
	require.ErrorIs(t, err, lower.ErrUnsupported)
}
