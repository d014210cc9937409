package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

func TestDims(t *testing.T) {
	d := ir.Dims{}
	typ := func(s string) ir.Type {
		ty, err := ir.ParseType(s)
		require.NoError(t, err)
		return ty
	}
	require.NoError(t, d.Match(typ("f32[T,4]"), typ("f32[7,4]")))
	require.NoError(t, d.Match(typ("i32[B+1]"), typ("i32[3]")))
	require.Equal(t, ir.Dims{"T": 7, "B": 2}, d)
	bound, err := d.Bind(typ("grow(f32[T,2],f32[B+1,2])"))
	require.NoError(t, err)
	require.Equal(t, "grow(f32[7,2],f32[3,2])", bound.String())
	for _, c := range []struct{ want, got, err string }{
		{"f32[T,4]", "f32[8,4]", "type is f32[8,4], want f32[T,4] with B=2 T=7"},
		{"f32[T,4]", "bf16[7,4]", "type is bf16[7,4], want f32[T,4] with B=2 T=7"},
		{"f32[4]", "f32[4,1]", "type is f32[4,1], want f32[4] with B=2 T=7"},
		{"i32[R+2]", "i32[1]", "type is i32[1], want i32[R+2] with B=2 T=7"},
	} {
		require.EqualError(t, d.Match(typ(c.want), typ(c.got)), c.err)
	}
	_, err = d.Bind(typ("f32[S]"))
	require.EqualError(t, err, "type f32[S]: extent S is not bound")
}
