package runtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
)

// TestEvents follows a run in two chunks: programs take the time that Stats says,
// what they use was read before, no cell is used for two things at a time, and the
// batch holds all of it.
func TestEvents(t *testing.T) {
	prompts := openGolden(t).ragged()
	tokens, ids := 0, map[int32]bool{}
	for _, p := range prompts {
		tokens += len(p)
		for _, id := range p {
			ids[id] = true
		}
	}
	for _, memory := range []int64{0, 1 << 30} { // without pins, and with everything pinned
		var events []runtime.Event
		reads := map[record]time.Time{} // when each was read first
		m := open(t, packed(t, tiny, "w4"), runtime.Options{
			Memory: memory, Chunk: (tokens + 1) / 2, Group: 2, Banks: 2,
			Events: func(e runtime.Event) { events = append(events, e) },
			Trace: func(e pager.Event) {
				for i := range e.Count {
					rec := record{e.Stage, e.Dense, e.First + i}
					if _, again := reads[rec]; e.Kind == pager.Read && !again {
						reads[rec] = e.End
					}
				}
			},
		})
		for range 2 {
			if events = nil; memory == 0 {
				clear(reads)
			}
			res := run(t, m, runtime.Batch{Prompts: prompts, Logits: runtime.All})
			layers := len(m.Module().Layers)

			whole := events[len(events)-1]
			require.Equal(t, []any{runtime.BatchRan, tokens}, []any{whole.Kind, whole.Rows})
			free := map[int]time.Time{} // from when a cell is
			last, compute := whole.Start, time.Duration(0)
			graphs := map[string]int{}
			for _, e := range events[:len(events)-1] {
				require.False(t, e.Start.Before(whole.Start) || e.End.After(whole.End) || e.End.Before(e.Start), "%+v in %+v", e, whole)
				require.True(t, -1 <= e.Layer && e.Layer <= layers, "%+v", e)
				if e.Kind == runtime.ProgramRan {
					require.False(t, e.Start.Before(last), "%+v starts before %v", e, last)
					last, compute = e.End, compute+e.End.Sub(e.Start)
					graphs[e.Graph] += e.Rows
					require.Equal(t, []any{"host", e.Graph == "expert0"}, []any{e.On, e.Count > 0})
					continue
				}
				require.Equal(t, runtime.RecordsUsed, e.Kind)
				require.Equal(t, memory > 0, e.Cell < 0, "%+v", e)
				require.True(t, e.Dense == (e.Cell < 2) || e.Cell < 0, "%+v", e)
				require.True(t, e.Cell < 0 || !e.Start.Before(free[e.Cell]), "%+v starts before %v", e, free[e.Cell])
				free[e.Cell] = e.End
				for i := range e.Count {
					read, ok := reads[record{e.Layer, e.Dense, e.First + i}]
					require.True(t, ok && (memory > 0 || !read.After(e.Start)), "%+v was read at %v", e, read)
				}
			}
			require.Equal(t, res.Stats.Compute, compute)
			require.Len(t, free, map[bool]int{false: 4, true: 1}[memory > 0], "cells")
			k := 3 // experts of a token
			for graph, rows := range map[string]int{"embed": len(ids), "c0.body": layers * tokens, "c0.route": layers * tokens, "expert0": layers * tokens * k, "head.norm": tokens} {
				require.Equal(t, rows, graphs[graph], graph)
			}
		}
	}
}

// A run that fails is told of too.
func TestEventsOfFailure(t *testing.T) {
	var kinds []runtime.EventKind
	m := open(t, packed(t, tiny, "w4"), runtime.Options{Events: func(e runtime.Event) { kinds = append(kinds, e.Kind) }})
	stop := errors.New("enough")
	_, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1, 2}}, Each: func(int, []float32) error { return stop }})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 1, count(kinds, runtime.BatchRan))
	kinds = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Run(ctx, runtime.Batch{Prompts: [][]int32{{1, 2}}})
	require.ErrorIs(t, err, context.Canceled)
	require.LessOrEqual(t, count(kinds, runtime.BatchRan), 1)
	require.Zero(t, count(kinds, runtime.RecordsUsed))
}

func count[E comparable](s []E, x E) int {
	return len(slices.DeleteFunc(slices.Clone(s), func(y E) bool { return y != x }))
}
