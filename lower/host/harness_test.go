package host

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
	"estream/lower"
)

// parse reads a module of core ops and more, and verifies it.
func parse(t testing.TB, text string, more ...*ir.Op) *ir.Module {
	t.Helper()
	ops, err := ir.Core(more...)
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	require.NoError(t, m.Verify())
	return m
}

// compiles compiles m on b, or on a new backend of two threads.
func compiles(t testing.TB, m *ir.Module, b lower.Backend, p lower.Packing) *compiled {
	t.Helper()
	if b == nil {
		b = New(Options{Threads: 2})
	}
	c, err := b.Compile(context.Background(), m, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.(*compiled)
}

// A rig is one program with the buffers of a call.
type rig struct {
	t     testing.TB
	c     *compiled
	graph *ir.Graph
	in    map[string]*interp.Tensor
	call  lower.Call
}

// newRig binds random tensors of the given extents to graph g, but for those in given.
func newRig(t testing.TB, c *compiled, g *ir.Graph, dims lower.Dims, given map[string]*interp.Tensor) *rig {
	t.Helper()
	r := &rig{t: t, c: c, graph: g, in: map[string]*interp.Tensor{}}
	at := map[*ir.Value]lower.Buffer{}
	for _, v := range g.Values {
		if v.Op != ir.Input && v.Op != ir.Weight {
			continue
		}
		x, ok := given[v.Name]
		if !ok {
			x = random(t, dims, v)
		}
		r.in[v.Name] = x
		b := r.buffer(x.Type, -1)
		if v.Op == ir.Weight {
			b = r.weight(v, x)
			r.call.Weights = append(r.call.Weights, b)
		} else {
			store(b, x)
			r.call.In = append(r.call.In, b)
		}
		at[v] = b
	}
	home := g.Homes()
	for _, v := range g.Outputs {
		b, ok := at[home[v]]
		if !ok || home[v] == v {
			bound, err := dims.Bind(v.Type)
			require.NoError(t, err)
			b = r.buffer(bound, -1)
		}
		r.call.Out = append(r.call.Out, b)
	}
	return r
}

// buffer allocates a buffer; size is that of the type where it is negative.
func (r *rig) buffer(ty ir.Type, size int64) lower.Buffer {
	if size < 0 {
		size = lower.Size(ty)
	}
	m, err := r.c.Alloc(size, lower.Align)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, m.Free()) })
	return lower.Buffer{Mem: m, Len: size, Type: ty}
}

// weight returns a buffer with weight w as the program reads it.
func (r *rig) weight(w *ir.Value, x *interp.Tensor) lower.Buffer {
	m := matrixOf(x)
	if !lower.IsMatrix(r.graph, w) {
		n, err := lower.PlainSize(x.Type)
		require.NoError(r.t, err)
		b := r.buffer(x.Type, n)
		require.True(r.t, m.DType.Float(), "tables of w8 are for other tests")
		lower.Encode(b.Bytes(), m.F, m.DType)
		return b
	}
	n, err := r.c.packing.Size(x.Type)
	require.NoError(r.t, err)
	b := r.buffer(x.Type, n)
	require.NoError(r.t, r.c.packing.Pack(b.Bytes(), m))
	b.Factor = m.Factor
	return b
}

// matrixOf returns a weight's values.
func matrixOf(x *interp.Tensor) *quant.Matrix {
	if x.Q != nil {
		return x.Q
	}
	d := x.Type.Dims
	n := 1
	if len(d) > 1 {
		n = d[0].N
	}
	return &quant.Matrix{DType: x.Type.DType, N: n, K: x.Type.Last().N, F: x.F, Factor: 1}
}

func (r *rig) run(ctx context.Context) error {
	p, err := r.c.Program(r.graph.Name)
	require.NoError(r.t, err)
	return p.Run(ctx, &r.call)
}

func (r *rig) mustRun() {
	r.t.Helper()
	require.NoError(r.t, r.run(context.Background()))
}

// judge runs the interpreter on the same tensors and compares the outputs, each
// within rel of its largest element.
func (r *rig) judge(rel float64) {
	r.t.Helper()
	want, err := interp.Eval(nil, r.graph, r.in, interp.Options{})
	require.NoError(r.t, err)
	for i, w := range want {
		near(r.t, r.graph.Outputs[i].String(), load(r.call.Out[i]), w, rel)
	}
}

func near(t testing.TB, what string, got, want *interp.Tensor, rel float64) {
	t.Helper()
	for i := range want.Parts {
		near(t, what, got.Parts[i], want.Parts[i], rel)
	}
	top, worst, at := 1e-30, 0.0, 0
	for i, w := range want.F {
		top = max(top, float64(w), -float64(w))
		if d := float64(got.F[i]) - float64(w); max(d, -d) > worst || d != d {
			worst, at = max(d, -d), i
		}
	}
	if worst > rel*top || worst != worst {
		t.Fatalf("%s %s: element %d: got %v, want %v: off by %.3g of the largest, tolerance %.3g", what, want.Type, at, got.F[at], want.F[at], worst/top, rel)
	}
	require.Equal(t, want.I, got.I, what)
	require.Equal(t, want.A, got.A, what)
}

// random returns a tensor for v that depends on its name and type alone.
func random(t testing.TB, dims lower.Dims, v *ir.Value) *interp.Tensor {
	t.Helper()
	bound, err := dims.Bind(v.Type)
	require.NoError(t, err)
	h := fnv.New64a()
	h.Write([]byte(v.Name + bound.String()))
	return randomOf(t, rand.New(rand.NewPCG(h.Sum64(), 1)), bound)
}

func randomOf(t testing.TB, r *rand.Rand, ty ir.Type) *interp.Tensor {
	t.Helper()
	if ty.DType.Encoded() {
		n, k := ty.Dims[0].N, ty.Dims[1].N
		m, err := quant.Encode(ty.DType, n, k, normal(r, n*k))
		require.NoError(t, err)
		return interp.Matrix(m)
	}
	x := interp.New(ty)
	x.Parts = nil
	for _, p := range ty.Parts {
		x.Parts = append(x.Parts, randomOf(t, r, p))
	}
	for i, v := range normal(r, len(x.F)) {
		x.F[i] = rounded(ty.DType, v)
	}
	for i := range x.A {
		x.A[i] = int8(r.IntN(255) - 127)
	}
	for i := range x.Scale {
		x.Scale[i] = r.Float32() / 64
	}
	return x
}

func rounded(d ir.DType, v float32) float32 {
	b := lower.Buffer{Mem: goMem(make([]byte, 4)), Len: 4}.Bytes()
	lower.Encode(b, []float32{v}, d)
	out := []float32{0}
	lower.Decode(out, b, d)
	return out[0]
}

func normal(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// goMem is memory of Go's heap.
type goMem []byte

func (m goMem) Bytes() []byte { return m }
func (m goMem) Free() error   { return nil }

// store writes a tensor into its buffer, load reads it.
func store(b lower.Buffer, x *interp.Tensor) {
	for i, p := range b.Parts() {
		store(p, x.Parts[i])
	}
	switch d := b.Type.DType; {
	case d.Float():
		lower.Encode(b.Bytes(), x.F, d)
	case d == ir.I32:
		copy(lower.I32(b.Bytes()), x.I)
	case d.Activation():
		eachRow(b, x, func(row []byte, a []int8, scales []float32) {
			copy(lower.I8(row), a)
			copy(lower.F32(row[lower.ScaleOffset(b.Type.Last().N):]), scales)
		})
	}
}

func load(b lower.Buffer) *interp.Tensor {
	x := interp.New(b.Type)
	for i, p := range b.Parts() {
		x.Parts[i] = load(p)
	}
	switch d := b.Type.DType; {
	case d.Float():
		lower.Decode(x.F, b.Bytes(), d)
	case d == ir.I32:
		copy(x.I, lower.I32(b.Bytes()))
	case d.Activation():
		eachRow(b, x, func(row []byte, a []int8, scales []float32) {
			copy(a, lower.I8(row))
			copy(scales, lower.F32(row[lower.ScaleOffset(b.Type.Last().N):]))
		})
	}
	return x
}

func eachRow(b lower.Buffer, x *interp.Tensor, f func(row []byte, a []int8, scales []float32)) {
	n, k := rows(b.Type)
	size, g := rowBytes(b.Type), k/b.Type.DType.Group(k)
	for i := range n {
		f(span(b.Bytes(), size, i, i+1), span(x.A, k, i, i+1), span(x.Scale, g, i, i+1))
	}
}
