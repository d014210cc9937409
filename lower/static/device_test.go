package static_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/static"
	"estream/passes"
)

// A recorder is a device that writes down what it is given. It adds 100 to each
// row of x and returns that; new rows of a state are the rows of x. Padded rows
// of its outputs are NaN, and so are its inputs afterwards.
type recorder struct {
	log    strings.Builder
	live   int
	refuse string // a graph that it does not compile
	fail   int    // the run, counted from 1, that is an error
	err    error  // that error; nil: one of no row
	runs   int
}

func (d *recorder) Name() string              { return "dev" }
func (d *recorder) Supports(*ir.Value) error  { return nil }
func (d *recorder) Packings() []lower.Packing { return []lower.Packing{packing()} }

func packing() lower.Packing {
	return lower.Packing{Name: "dev", Size: func(t ir.Type) (int64, error) {
		n, err := lower.PlainSize(t)
		return lower.RoundUp(n, 64), err
	}}
}

func (d *recorder) Compile(_ context.Context, g *ir.Graph, _ lower.Packing) (static.Executable, error) {
	if g.Name == d.refuse {
		return nil, fmt.Errorf("too wide: %w", lower.ErrUnsupported)
	}
	d.live++
	return recorded{d, g}, nil
}

func (d *recorder) Alloc(bytes, _ int64) (lower.Mem, error) {
	d.live++
	return counted{lower.Wrap(make([]float32, bytes/4)), d}, nil
}

type counted struct {
	lower.Mem
	d *recorder
}

func (m counted) Free() error { m.d.live--; return nil }

type recorded struct {
	*recorder
	graph *ir.Graph
}

func (e recorded) Close() error { e.live--; return nil }

func (e recorded) Run(_ context.Context, in, weights, out []lower.Buffer) error {
	if e.runs++; e.runs == e.fail {
		return cmp.Or(e.err, errors.New("the device is gone"))
	}
	fmt.Fprintf(&e.log, "%s\n", e.graph.Name)
	var x []float32
	for i, v := range e.graph.Inputs() {
		if in[i].Off%128 != 0 || !in[i].Type.Equal(v.Type) {
			return fmt.Errorf("%s at %d has type %s", v.Name, in[i].Off, in[i].Type)
		}
		fmt.Fprintf(&e.log, "  %s %s\n", v.Name, text(in[i]))
		if v.Name == "x" || strings.HasPrefix(v.Name, "x.") {
			x = append(x, lower.F32(in[i].Bytes())...)
		}
	}
	for i, w := range e.graph.Weights() {
		fmt.Fprintf(&e.log, "  %s at %d, %d bytes, factor %v\n", w.Name, weights[i].Off, weights[i].Len, weights[i].Factor)
	}
	for i, v := range e.graph.Outputs {
		of := x
		if strings.Contains(e.graph.Name, ",G") {
			of = x[i*len(x)/len(e.graph.Outputs):] // a body's own
		}
		for j := range lower.F32(out[i].Bytes()) {
			y := of[j] + 100
			if strings.HasPrefix(v.Name, "new.") {
				y = of[j]
			}
			if of[j] == 0 { // a padded row
				y /= of[j] - of[j]
			}
			lower.F32(out[i].Bytes())[j] = y
		}
	}
	for _, b := range in {
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xff
		}
	}
	return nil
}

// text prints a buffer, masks as what is seen (o) and what is not (.).
func text(b lower.Buffer) string {
	switch b.Type.DType {
	case ir.I32:
		return fmt.Sprint(lower.I32(b.Bytes()))
	case ir.BF16:
		var f []float32
		for _, h := range lower.U16(b.Bytes()) {
			f = append(f, quant.FromBF16(h))
		}
		return fmt.Sprint(f)
	}
	f := lower.F32(b.Bytes())
	if b.Type.Rank() != 2 || b.Type.Last().N == 1 {
		return fmt.Sprint(f)
	}
	var s strings.Builder
	for i, e := range f {
		if i > 0 && i%b.Type.Last().N == 0 {
			s.WriteByte(' ')
		}
		s.WriteString(map[float32]string{0: "o", -30000: "."}[e])
	}
	return s.String()
}

// compile compiles a module's text for d.
func compile(t *testing.T, d *recorder, module string) (lower.Compiled, error) {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(module, ops)
	require.NoError(t, err)
	return static.New(d, passes.Tiers{}).Compile(context.Background(), m, packing())
}

// program returns the program of one graph of a module.
func program(t *testing.T, d *recorder, module, graph string) lower.Program {
	t.Helper()
	c, err := compile(t, d, module)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Zero(t, d.live, "memories and graphs that are left")
	})
	p, err := c.Program(graph)
	require.NoError(t, err)
	return p
}

// buf returns a buffer over s.
func buf[E int8 | uint16 | int32 | float32](s []E, d ir.DType, extents ...int) lower.Buffer {
	t := ir.Tensor(d)
	for _, n := range extents {
		t.Dims = append(t.Dims, ir.N(n))
	}
	m := lower.Wrap(s)
	return lower.Buffer{Mem: m, Len: int64(len(m.Bytes())), Type: t}
}

func f32s(s ...float32) lower.Buffer { return buf(s, ir.F32, len(s), 1) }
func i32s(s ...int32) lower.Buffer   { return buf(s, ir.I32, len(s)) }

// count returns from, from+1, ...
func count(from, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(from + i)
	}
	return s
}
