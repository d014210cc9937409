package static_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/static"
	"estream/passes"
)

// A fixing recorder is a device that can have weights inside its graphs, of which it
// keeps the first number.
type fixing struct {
	*recorder
	fail int // the graph of a Fix, counted from 1, at which it ends
}

func (d fixing) Fix(_ context.Context, gs []*ir.Graph, _ lower.Packing, weights [][]lower.Buffer) (es []static.Executable, err error) {
	for i, g := range gs {
		if i+1 == d.fail {
			return es, errors.New("no room")
		}
		d.live++
		es = append(es, constant{recorded{d.recorder, g}, lower.F32(weights[i][0].Bytes())[0]})
	}
	return es, nil
}

type constant struct {
	recorded
	gain float32
}

func (e constant) Run(_ context.Context, _, _, out []lower.Buffer) error {
	fmt.Fprintf(&e.log, "%s of %v\n", e.graph.Name, e.gain)
	for i := range lower.F32(out[0].Bytes()) {
		lower.F32(out[0].Bytes())[i] = e.gain
	}
	return nil
}

type fixer interface {
	Fix(ctx context.Context, graphs []string, weights [][]lower.Buffer) ([]lower.Program, io.Closer, error)
	Inside(graph string) int64
}

func TestFix(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(tail+expert, ops)
	require.NoError(t, err)
	compiled := func(d static.Device) lower.Compiled {
		c, err := static.New(d, passes.Tiers{}).Compile(t.Context(), m, packing())
		require.NoError(t, err)
		return c
	}
	gain := func(x float32) []lower.Buffer { return []lower.Buffer{buf([]float32{x}, ir.F32, 1)} }
	d := fixing{recorder: &recorder{}}
	c := compiled(d)
	f := c.(fixer)
	require.EqualValues(t, 2*4, f.Inside("c0.tail"), "two tiers of one f32")
	require.Zero(t, f.Inside("expert0"))
	for _, x := range []struct {
		graph   string
		weights []lower.Buffer
		want    string
	}{
		{"nosuch", nil, "graph nosuch has no tiers here, or is an expert's"},
		{"expert0", nil, "graph expert0 has no tiers here, or is an expert's"},
		{"c0.tail", nil, "graph c0.tail: 0 weights, want 1"},
	} {
		_, _, err := f.Fix(t.Context(), []string{x.graph}, [][]lower.Buffer{x.weights})
		require.EqualError(t, err, "dev: weights inside graphs: "+x.want)
	}
	var programs []lower.Program
	var closers []io.Closer
	for i := range 2 {
		p, closer, err := f.Fix(t.Context(), []string{"c0.tail"}, [][]lower.Buffer{gain(float32(5 + i))})
		require.NoError(t, err)
		programs, closers = append(programs, p...), append(closers, closer)
	}
	own, err := c.Program("c0.tail")
	require.NoError(t, err)
	for _, x := range []struct {
		program lower.Program
		want    []float32
		log     string
	}{
		{programs[0], []float32{5, 5, 5}, "c0.tail@T4 of 5\n"},
		{programs[1], []float32{6, 6, 6}, "c0.tail@T4 of 6\n"},
		{own, []float32{101, 102, 103}, "c0.tail@T4\n  x [1 2 3 0]\n  gain at 0, 4 bytes, factor 0\n"},
	} {
		d.log.Reset()
		y := f32s(0, 0, 0)
		require.NoError(t, x.program.Run(t.Context(), &lower.Call{In: []lower.Buffer{f32s(1, 2, 3)}, Weights: gain(1), Out: []lower.Buffer{y}}))
		require.Equal(t, x.want, lower.F32(y.Bytes()))
		require.Equal(t, x.log, d.log.String())
	}
	require.NoError(t, closers[0].Close())
	require.EqualError(t, closers[0].Close(), "programs with weights inside are closed twice")
	require.NoError(t, c.Close(), "which closes the other")
	require.Zero(t, d.live, "memories and graphs that are left")

	short := fixing{recorder: &recorder{}, fail: 2}
	c = compiled(short)
	_, _, err = c.(fixer).Fix(t.Context(), []string{"c0.tail"}, [][]lower.Buffer{gain(1)})
	require.EqualError(t, err, "dev: weights inside graphs: no room")
	require.NoError(t, c.Close())
	require.Zero(t, short.live, "memories and graphs that are left")

	c = compiled(&recorder{})
	_, _, err = c.(fixer).Fix(t.Context(), []string{"c0.tail"}, [][]lower.Buffer{gain(1)})
	require.ErrorIs(t, err, lower.ErrUnsupported)
	require.NoError(t, c.Close())
}
