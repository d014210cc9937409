package runtime_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/pager"
	"estream/pager/layout"
	"estream/pager/pagertest"
	"estream/runtime"
)

// TestReads follows what a batch reads: each record once, dropped guesses apart,
// and of experts on demand or after routing only those that have rows.
func TestReads(t *testing.T) {
	dir := packed(t, tiny, "w4")
	prompts := openGolden(t).ragged()
	for _, schedule := range schedules {
		for _, qbg := range [][3]int{{1, 1, 1}, {2, 3, 2}, {4, 2, 8}, {3, 4, 3}} {
			for _, b := range []runtime.Batch{
				{Prompts: prompts, Logits: runtime.All}, {Prompts: prompts[2:]}, {Prompts: prompts[:1], Logits: runtime.None},
			} {
				l := &ledger{what: fmt.Sprint(schedule, qbg, " logits ", b.Logits), read: map[record]int{}, dropped: map[record]int{}, wanted: map[record]bool{}, sources: map[string]*pagertest.Faulty{}}
				m := open(t, dir, runtime.Options{
					Schedule: schedule, Readers: qbg[0], Banks: qbg[1], Group: qbg[2], Chunk: 6,
					Trace: l.trace, Taps: []string{"experts.ids"}, Tap: l.routed, Source: l.source(inMemory(t, dir)),
				})
				l.check(t, schedule, m.Manifest(), run(t, m, b))
			}
		}
	}
}

// A record is one of a stage.
type record struct {
	stage int
	dense bool
	index int
}

// A ledger is what was read in a run, and what had to be.
type ledger struct {
	what    string
	read    map[record]int
	dropped map[record]int
	wanted  map[record]bool // experts
	sources map[string]*pagertest.Faulty

	bytes        int64
	reads, drops int
}

func (l *ledger) trace(e pager.Event) {
	count := l.read
	switch e.Kind {
	case pager.Wait:
		return
	case pager.Drop:
		l.drops++
		count = l.dropped
	case pager.Read:
		l.reads++
		l.bytes += e.Bytes
	}
	for i := range e.Count {
		count[record{e.Stage, e.Dense, e.First + i}]++
	}
}

func (l *ledger) routed(x runtime.Tap) {
	for _, id := range lower.I32(x.Buffer.Bytes()) {
		l.wanted[record{x.Layer, false, int(id)}] = true
	}
}

// source keeps the log of reads of each file.
func (l *ledger) source(open func(string) (pager.Source, error)) func(string) (pager.Source, error) {
	return func(path string) (pager.Source, error) {
		src, err := open(path)
		l.sources[filepath.Base(path)] = pagertest.NewFaulty(src)
		return l.sources[filepath.Base(path)], err
	}
}

// ahead reports whether a schedule reads experts before it is known that they are wanted.
func ahead(s pager.Schedule) bool { return s == pager.BeforeRouting || s == pager.Guessed }

func (l *ledger) check(t *testing.T, schedule pager.Schedule, man *layout.Manifest, res *runtime.Result) {
	t.Helper()
	heads := (res.Plan.Rows + res.Plan.Head - 1) / res.Plan.Head
	needed := lower.RoundUp(man.Rows[0].Size(), l.sources[layout.DenseName].Align()) // the last block as its source wants it
	for _, r := range man.Dense {
		times := 1
		if r.Layer == 3 {
			times = heads
		}
		require.Equal(t, times, l.read[record{r.Layer, true, r.Index}], "%s: reads of %+v", l.what, r)
		needed += int64(times) * r.Stride(man.Align)
	}
	for _, p := range res.Plan.Parts {
		if p.Name == "routers" { // which are read by pages; ids are less than one
			needed += p.Bytes / 4096 * 4096
		}
	}
	for _, r := range man.Experts {
		rec := record{r.Layer, false, r.Index}
		if l.wanted[rec] {
			needed += r.Stride(man.Align)
			require.Positive(t, l.read[rec], "%s: reads of %+v", l.what, r)
		} else if !ahead(schedule) {
			require.Zero(t, l.read[rec], "%s: %+v has no rows", l.what, r)
		}
		require.LessOrEqual(t, l.read[rec], 1+l.dropped[rec], "%s: reads of %+v", l.what, r)
	}
	if !ahead(schedule) {
		require.Zero(t, res.Stats.Dropped, l.what)
		require.Zero(t, res.Stats.Wasted, l.what)
	}
	fromFiles, calls := int64(0), 0
	for _, src := range l.sources {
		for _, r := range src.Reads() {
			fromFiles, calls = fromFiles+r.Len, calls+1
		}
	}
	require.Equal(t, fromFiles, res.Stats.Bytes, "%s: bytes", l.what)
	require.Equal(t, l.bytes, res.Stats.Bytes, "%s: bytes of the trace", l.what)
	require.Equal(t, needed, res.Stats.Bytes-res.Stats.Wasted, "%s: bytes that were needed", l.what)
	require.Equal(t, []int{calls, l.reads, l.drops, 0}, []int{res.Stats.Reads, res.Stats.Reads, res.Stats.Dropped, res.Stats.Retries}, "%s: counts", l.what)
	require.Equal(t, int64(len(man.Experts))*man.Experts[0].Stride(man.Align), res.Stats.Pool, "%s: pool", l.what)
	require.Equal(t, res.Stats.Pool/3, res.Stats.Layer, "%s: a layer's experts", l.what)
}
