package host

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host/kernel"
	"estream/passes"
)

// body is a layer up to its router: exact and encoded matrices, weights of 16
// bits, a state that is written and read, reshapes between.
const body = `
graph c0.body
  %1:x = input : f32[T,64]
  %2:pos = input : i32[T]
  %3:seq = input : i32[B+1]
  %4:past = input : i32[B]
  %5:base = input : i32[B]
  %6:parent = input : i32[B]
  %7:state = input : grow(bf16[S,2,16],bf16[S,2,16])
  %8:attn.norm.weight = weight offset=0 : bf16[64]
  %9 = rmsnorm %1 %8 eps=1e-05 : f32[T,64]
  %10 = quantize %9 to=a8 : a8[T,64]
  %11:attn.q.weight = weight offset=0 : w8[64,64]
  %12:attn.k.weight = weight offset=0 : w4g32[32,64]
  %13:attn.v.weight = weight offset=0 : bf16[32,64]
  %14 = matmul %10 %11 : f32[T,64]
  %15 = matmul %10 %12 : f32[T,32]
  %16 = matmul %9 %13 : f32[T,32]
  %17 = reshape %14 dims=T,4,16 : f32[T,4,16]
  %18 = rope %17 %2 theta=10000 interleaved=false : f32[T,4,16]
  %19 = reshape %15 dims=T,2,16 : f32[T,2,16]
  %20 = rope %19 %2 theta=10000 interleaved=false : f32[T,2,16]
  %21 = reshape %16 dims=T,2,16 : f32[T,2,16]
  %22:state.next = append %7 %3 %4 %5 %20 %21 inplace=0 : grow(bf16[S,2,16],bf16[S,2,16])
  %23 = attention %18 %22 %2 %3 %4 %5 %6 scale=0.25 window=0 : f32[T,4,16]
  %24 = reshape %23 dims=T,64 : f32[T,64]
  %25:attn.o.weight = weight offset=0 : f32[64,64]
  %26 = matmul %24 %25 : f32[T,64]
  %27:h = add %1 %26 : f32[T,64]
  return %27 %22
`

// bodyStep is three sequences, the second behind a prefix of the first; it has
// rows of several blocks of queries.
func bodyStep() (lower.Dims, map[string]*interp.Tensor) {
	ints := func(v ...int32) *interp.Tensor { return interp.Ints(v, len(v)) }
	seq, past, base, prefix := []int32{0, 70, 73, 74}, []int32{2, 3, 9}, []int32{20, 0, 100}, []int32{0, 5, 0}
	var pos []int32
	for b := range past {
		for i := range seq[b+1] - seq[b] {
			pos = append(pos, prefix[b]+past[b]+i)
		}
	}
	return lower.Dims{"T": 74, "B": 3, "S": 120}, map[string]*interp.Tensor{
		"pos": ints(pos...), "seq": ints(seq...), "past": ints(past...), "base": ints(base...), "parent": ints(-1, 0, -1),
	}
}

func TestBodyMatchesInterpreter(t *testing.T) {
	dims, step := bodyStep()
	r := newRig(t, compiles(t, parse(t, body), nil, kernel.Packing), parse(t, body).Graphs[0], dims, step)
	for range 2 { // a second time over the same state, and the workspace as the first left it
		r.mustRun()
		r.judge(4e-2) // queries and keys that round to a neighbour in bf16, scores of up to 100
	}
}

func TestSlotsThreadsAndPackingsGiveTheSameBits(t *testing.T) {
	planned := parse(t, body)
	ps, err := passes.Select(passes.Open(passes.Target{Backend: New(Options{})}), "plan-memory")
	require.NoError(t, err)
	require.NoError(t, passes.Run(planned, ps, nil))
	require.NotEqual(t, parse(t, body).String(), planned.String(), "plan-memory gives slots")

	dims, step := bodyStep()
	var first []byte
	for _, c := range []struct {
		name    string
		module  *ir.Module
		threads int
		packing lower.Packing
	}{
		{"no slots, one thread", parse(t, body), 1, kernel.Packing},
		{"slots, one thread", planned, 1, kernel.Packing},
		{"slots, three threads", planned, 3, kernel.Packing},
		{"slots, seven threads", planned, 7, kernel.Packing},
		{"foreign packing", planned, 2, reversed},
		{"foreign packing by rows", planned, 1, reversedRows()},
		{"foreign packing by rows, seven threads", planned, 7, reversedRows()},
	} {
		r := newRig(t, compiles(t, c.module, New(Options{Threads: c.threads}), c.packing), c.module.Graphs[0], dims, step)
		r.mustRun()
		got := append(bytes.Clone(r.call.Out[0].Bytes()), r.call.Out[1].Bytes()...)
		if first == nil {
			first = got
		}
		require.True(t, bytes.Equal(first, got), "%s: bits differ from those of %s", c.name, "no slots, one thread")
	}
}

func TestFootprintIsWhatRunAllocates(t *testing.T) {
	m := parse(t, body)
	dims, step := bodyStep()
	for _, p := range []lower.Packing{kernel.Packing, reversed, reversedRows()} {
		r := newRig(t, compiles(t, m, nil, p), m.Graphs[0], dims, step)
		want, err := r.c.Footprint("c0.body", dims)
		require.NoError(t, err)
		r.mustRun()
		require.Equal(t, want, int64(len(r.c.space.bytes)), "packing %s", p.Name)
		require.Greater(t, want, int64(74*64*4))
		_, err = r.c.Footprint("c0.body", lower.Dims{"S": 4})
		require.EqualError(t, err, "host: graph c0.body: working memory: type f32[T,64]: extent T is not bound")
		other, err := r.c.Footprint("other", dims)
		require.NoError(t, err)
		require.Zero(t, other)
	}
}

// TestHead runs the head by parts of its columns: the extent of the weight is known when it is bound.
func TestHead(t *testing.T) {
	m := parse(t, `
graph head.proj
  %1:head.norm = input : a8[L,64]
  %2:head.weight = weight offset=0 : w8[P,64]
  %3:logits = matmul %1 %2 : f32[L,P]
  return %3
`)
	for _, p := range []lower.Packing{kernel.Packing, reversed, reversedRows()} {
		c := compiles(t, m, nil, p)
		for _, columns := range []int{64, 5, 640} {
			r := newRig(t, c, m.Graphs[0], lower.Dims{"L": 300, "P": columns}, nil)
			r.mustRun()
			r.judge(1e-5)
		}
	}
}

// TestCallsWait runs programs of one Compiled at once: they share a workspace.
func TestCallsWait(t *testing.T) {
	m := parse(t, body)
	c := compiles(t, m, nil, kernel.Packing)
	dims, step := bodyStep()
	first := newRig(t, c, m.Graphs[0], dims, step)
	first.mustRun()
	want := bytes.Clone(first.call.Out[0].Bytes())
	var rigs []*rig
	for range 4 {
		rigs = append(rigs, newRig(t, c, m.Graphs[0], dims, step))
	}
	var wg sync.WaitGroup
	errs := make([]error, len(rigs))
	for i, r := range rigs {
		wg.Go(func() { errs[i] = r.run(context.Background()) })
	}
	wg.Wait()
	for i, r := range rigs {
		require.NoError(t, errs[i])
		require.True(t, bytes.Equal(want, r.call.Out[0].Bytes()), "call %d of several at once", i)
	}
}

// TestBuffersAreNotKept after a Run.
func TestBuffersAreNotKept(t *testing.T) {
	m := parse(t, body)
	dims, step := bodyStep()
	r := newRig(t, compiles(t, m, nil, kernel.Packing), m.Graphs[0], dims, step)
	r.mustRun()
	p := r.c.programs["c0.body"]
	for i, b := range p.at {
		require.Nil(t, b.Mem, "place %d", i)
	}
	for _, in := range p.code {
		for _, b := range append(in.In, in.Out) {
			require.Nil(t, b.Mem, in.label)
		}
		switch l := in.local.(type) {
		case *product:
			require.Nil(t, l.w.Data, in.label)
		case *mixing:
			require.Nil(t, l.Keys, in.label)
			require.Nil(t, l.Values, in.label)
		case *target:
			require.Nil(t, l.parts, in.label)
		}
	}
}

// TestNoTokens runs a step without tokens, and one without sequences.
func TestNoTokens(t *testing.T) {
	m := parse(t, body)
	c := compiles(t, m, nil, kernel.Packing)
	for _, n := range []int{0, 2} {
		zero, seq := interp.Ints(make([]int32, n), n), interp.Ints(make([]int32, n+1), n+1)
		r := newRig(t, c, m.Graphs[0], lower.Dims{"T": 0, "B": n, "S": 3},
			map[string]*interp.Tensor{"pos": interp.Ints(nil, 0), "seq": seq, "past": zero, "base": zero, "parent": zero})
		before := bytes.Clone(r.call.Out[1].Bytes())
		r.mustRun()
		require.Equal(t, before, r.call.Out[1].Bytes(), "the state of a step without tokens")
	}
}

// TestSteadyStateAllocates only what states and the forking of loops need: it
// does not grow with the tokens.
func TestSteadyStateAllocates(t *testing.T) {
	m := parse(t, body)
	dims, step := bodyStep()
	r := newRig(t, compiles(t, m, nil, kernel.Packing), m.Graphs[0], dims, step)
	r.mustRun()
	if n := testing.AllocsPerRun(20, r.mustRun); n > 12 {
		t.Errorf("a Run of %d instructions allocates %v times, want at most 12", len(r.c.programs["c0.body"].code), n)
	}
}
