package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// traced compiles a module on two threads that tell of what they do.
func traced(t testing.TB, text string, events *[]Event) (*ir.Module, *compiled) {
	m := parse(t, text)
	return m, compiles(t, m, New(Options{Threads: 2, Trace: func(e Event) { *events = append(*events, e) }}), kernel.Packing)
}

// requireTimes checks that events follow each other.
func requireTimes(t testing.TB, events []Event) {
	t.Helper()
	last := time.Time{}
	for _, e := range events {
		require.False(t, e.Start.Before(last), "%s %s starts at %v, before the one before it ended at %v", e.Op, e.Value, e.Start, last)
		require.False(t, e.End.Before(e.Start), "%s %s", e.Op, e.Value)
		require.LessOrEqual(t, e.Idle, 2*e.End.Sub(e.Start), "%s %s", e.Op, e.Value)
		last = e.End
	}
}

// Each instruction is told of, in order, with what it did: attention sees what is
// before each query, and the rows of the prefix.
func TestTraceBody(t *testing.T) {
	var events []Event
	m, c := traced(t, body, &events)
	dims, step := bodyStep()
	newRig(t, c, m.Graphs[0], dims, step).mustRun()
	requireTimes(t, events)

	const T, rows = 74, 70 + 2 + 3 + 3 + 5 + 1 + 9 // new, past and prefix
	pairs := 0
	for _, s := range [][2]int{{2, 70}, {3 + 5, 3}, {9, 1}} {
		for i := range s[1] {
			pairs += s[0] + i + 1
		}
	}
	state := int64(2 * 2 * 16 * 2) // bytes of a row of keys and values
	want := map[string]Work{
		"%14 = matmul":            {Int8: T * 64 * 64},
		"%15 = matmul":            {Int8: T * 64 * 32},
		"%16 = matmul":            {F32: T * 64 * 32},
		"%26 = matmul":            {F32: T * 64 * 64},
		"%23 = attention":         {BF16: int64(pairs) * 4 * (16 + 16), Bytes: 2*T*64*4 + rows*state + (74+4+3*3)*4},
		"%22:state.next = append": {Bytes: 2*T*32*4 + T*state + (4+3+3)*4},
		"%27:h = add":             {Bytes: 3 * T * 64 * 4},
		"%10 = quantize":          {Bytes: T*64*4 + T*lower.RowBytes(ir.Tensor(ir.A8, ir.N(T), ir.N(64)))},
		"%18 = rope":              {Bytes: 2*T*64*4 + T*4},
	}
	seen := 0
	for _, e := range events {
		require.Equal(t, "c0.body", e.Graph)
		if e.Op == "copy" {
			require.Zero(t, e.Bytes, "%s is written in place", e.Value)
			continue
		}
		require.Positive(t, e.Bytes, e.Value)
		if w, ok := want[e.Value]; ok {
			if seen++; w.Bytes == 0 {
				w.Bytes = e.Bytes
			}
			require.Equal(t, w, e.Work, e.Value)
		}
	}
	require.Equal(t, len(want), seen)
}

// A window bounds what a query sees.
func TestTraceWindow(t *testing.T) {
	const text = `
graph g
  %1:q = input : f32[T,2,16]
  %2:state = input : grow(f32[S,1,16],f32[S,1,16])
  %3:pos = input : i32[T]
  %4:seq = input : i32[B+1]
  %5:past = input : i32[B]
  %6:base = input : i32[B]
  %7:parent = input : i32[B]
  %8 = attention %1 %2 %3 %4 %5 %6 %7 scale=0.25 window=4 : f32[T,2,16]
  return %8
`
	var events []Event
	m, c := traced(t, text, &events)
	dims, step := bodyStep()
	newRig(t, c, m.Graphs[0], dims, step).mustRun()
	pairs := 3 + 69*4 + 3*4 + 4 // the first query sees three keys
	require.Equal(t, int64(pairs*2*32), events[0].F32)
	rows := 72 + (4 + 3 - 1) + 4
	require.Equal(t, int64(2*74*32*4+rows*2*16*4+(74+4+3*3)*4), events[0].Bytes)
}

// A gated body is told of step by step, any other op by op; both count the same products.
func TestTraceGroup(t *testing.T) {
	call := twoExperts()
	n := int64(len(call.rows[0]) + len(call.rows[2]))
	for _, fuse := range []bool{true, false} {
		var events []Event
		b := New(Options{Threads: 2, Trace: func(e Event) { events = append(events, e) }})
		b.(*backend).fuse = fuse
		m := parse(t, gatedText("a8", "w4g32", "%11 %10"))
		newGroupRig(t, compiles(t, m, b, kernel.Packing), m.Graphs[0], call).mustRun()
		requireTimes(t, events)
		sum, ops := int64(0), map[string]int{}
		for _, e := range events {
			require.Equal(t, "expert0", e.Graph)
			require.Equal(t, e.Op != "copy", e.Bytes > 0, e.Op)
			require.Zero(t, e.F32+e.BF16, e.Op)
			sum += e.Int8
			ops[e.Op]++
		}
		require.Equal(t, n*3*128*128, sum, "fused: %v", fuse)
		if fuse {
			require.Equal(t, map[string]int{"gather_rows": 1, "gate_up": 1, "quantize": 1, "down": 1}, ops)
		} else {
			require.Equal(t, 6, ops["matmul"], "%v", ops)
		}
	}
}
