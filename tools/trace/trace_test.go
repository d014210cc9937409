package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager"
	"estream/runtime"
	"estream/tools/pack"
)

// A line is an event as a viewer reads it; times in microseconds.
type line struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Time     *float64       `json:"ts"`
	Duration *float64       `json:"dur"`
	Args     map[string]any `json:"args"`
}

func (l line) start() int64 { return nanos(*l.Time) }
func (l line) end() int64   { return nanos(*l.Time) + nanos(*l.Duration) }

func nanos(micros float64) int64 { return int64(math.Round(micros * 1000)) }

// parse reads a trace and checks what every trace must hold; it returns the slices
// of each track in order of time, by the track's name.
func parse(t testing.TB, text []byte) map[string][]line {
	t.Helper()
	var file struct {
		Unit   string `json:"displayTimeUnit"`
		Events []line `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(text, &file), "%s", text)
	names, tracks := map[int]string{}, map[string][]line{}
	for _, e := range file.Events {
		require.Equal(t, 1, e.Process)
		switch {
		case e.Name == "thread_name":
			require.NotContains(t, names, e.Track)
			names[e.Track] = e.Args["name"].(string)
		case e.Phase == "X":
			require.NotNil(t, e.Duration, "%+v", e)
			require.GreaterOrEqual(t, *e.Duration, 0.0, "%+v", e)
			require.GreaterOrEqual(t, *e.Time, 0.0, "%+v", e)
			require.NotEmpty(t, names[e.Track], "%+v stands on no named track", e)
			tracks[names[e.Track]] = append(tracks[names[e.Track]], e)
		default:
			require.Contains(t, []string{"M", "i"}, e.Phase)
		}
	}
	for name, slices := range tracks {
		requireApart(t, name, slices)
	}
	return tracks
}

// requireApart checks T1 and T2 of a track.
func requireApart(t testing.TB, track string, lines []line) {
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.start() - b.start()) })
	for i, e := range lines {
		if i > 0 {
			require.GreaterOrEqual(t, e.start(), lines[i-1].end(), "%s: %+v overlaps %+v", track, e, lines[i-1])
		}
		if strings.HasPrefix(track, "reader ") || strings.HasPrefix(track, "bank ") || strings.HasPrefix(track, "dense slot ") || track == "waits for reads" {
			require.Regexp(t, `^(embedding table|layer \d+ (dense|experts) \d+(-\d+)?)$`, e.Args["records"], "%s: %+v", track, e)
		}
	}
}

// model opens the tiny model with all hooks on a writer.
func model(t testing.TB, w *Writer, o runtime.Options) *runtime.Model {
	t.Helper()
	e, err := pack.FindEncoding("w4")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "p")
	o.Host = host.New(host.Options{Threads: 2, Trace: w.Op})
	o.Trace, o.Events = w.Pager, w.Event
	_, err = pack.Run(t.Context(), "../../testdata/olmoe", dir, pack.Options{
		Encoding: e, Backend: "host", Packing: o.Host.Packings()[0], Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	m, err := runtime.Open(t.Context(), dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func prompt(n int) [][]int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i * 7 % 160)
	}
	return [][]int32{p}
}

// TestRun traces runs under each schedule: programs hold their instructions, cells
// go round, and what was used was read.
func TestRun(t *testing.T) {
	for _, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.OnDemand} {
		var file bytes.Buffer
		w := NewWriter(&file)
		m := model(t, w, runtime.Options{Schedule: schedule, Readers: 2, Banks: 2, Group: 2, Chunk: 16})
		var bytes int64
		for _, n := range []int{40, 3} {
			res, err := m.Run(t.Context(), runtime.Batch{Prompts: prompt(n), Logits: runtime.All})
			require.NoError(t, err)
			bytes += res.Stats.Bytes
		}
		require.NoError(t, w.Close())
		tracks := parse(t, file.Bytes())
		require.Equal(t, []string{"40 tokens", "3 tokens"}, []string{tracks["batches"][0].Name, tracks["batches"][1].Name})
		within(t, tracks["instructions"], tracks["programs"])
		within(t, tracks["programs"], tracks["batches"])
		within(t, tracks["waits for reads"], tracks["batches"])
		var read float64
		readers, banks := 0, 0
		for name, lines := range tracks {
			switch {
			case strings.HasPrefix(name, "reader "):
				readers++
				for _, e := range lines {
					read += e.Args["bytes"].(float64)
				}
			case strings.HasPrefix(name, "bank "), strings.HasPrefix(name, "dense slot "):
				banks++
				round(t, name, lines)
			}
		}
		require.Equal(t, float64(bytes), read, "%v: bytes of the reads", schedule)
		require.LessOrEqual(t, readers, 3, "two readers, and one block of the table")
		require.True(t, 2 <= banks && banks <= 4, "%v: %d cells", schedule, banks)
		require.True(t, slices.ContainsFunc(tracks["instructions"], func(e line) bool {
			return e.Name == "matmul attn.q" && e.Args["multiply_adds"] == 16.0*64*64 && e.Args["gops"].(float64) > 0
		}), "%v", tracks["instructions"])
		require.True(t, slices.ContainsFunc(tracks["programs"], func(e line) bool { return e.Name == "layer 2 expert0" && e.Args["experts"] != nil }))
	}
}

// within checks that each slice lies in one of others.
func within(t testing.TB, inner, outer []line) {
	t.Helper()
	require.NotEmpty(t, inner)
	for _, e := range inner {
		require.True(t, slices.ContainsFunc(outer, func(o line) bool { return o.start() <= e.start() && e.end() <= o.end() }), "%+v", e)
	}
}

// round checks that a cell is filled, ready, in use, and so on, each time with one run of records.
func round(t testing.TB, name string, lines []line) {
	t.Helper()
	require.Zero(t, len(lines)%3, "%s: %+v", name, lines)
	for i, e := range lines {
		require.Equal(t, []string{"filling", "ready", "in use"}[i%3], e.Name, "%s: %+v", name, lines)
		require.Equal(t, lines[i-i%3].Args, e.Args, name)
	}
}

// A run that is cancelled leaves a whole file.
func TestCancelled(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	m := model(t, w, runtime.Options{Chunk: 4})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := m.Run(ctx, runtime.Batch{Prompts: prompt(60), Logits: runtime.All, Each: func(int, []float32) error {
		if n++; n == 3 {
			cancel()
		}
		return nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, w.Close())
	tracks := parse(t, file.Bytes())
	require.Len(t, tracks["batches"], 1)
	require.NotEmpty(t, tracks["instructions"])
}

// at is a time of a made-up trace.
func (w *Writer) at(ms int) time.Time { return w.began.Add(time.Duration(ms) * time.Millisecond) }

// Reads get a track for each that is in flight at once; retries belong to the same
// filling, a read for the next use does not; a failed read says why; what nobody
// wanted is kept no longer than its layer.
func TestReads(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	read := func(stage int, dense bool, first, count, from, to int, err error) {
		w.Pager(pager.Event{Kind: pager.Read, Stage: stage, Dense: dense, First: first, Count: count, Bytes: 10, Start: w.at(from), End: w.at(to), Err: err})
	}
	use := func(layer int, dense bool, first, count, cell, from, to int) {
		w.Event(runtime.Event{Kind: runtime.RecordsUsed, Layer: layer, Dense: dense, First: first, Count: count, Cell: cell, Start: w.at(from), End: w.at(to)})
	}
	read(0, false, 0, 2, 0, 10, errors.New("bad \"cable\"\x01"))
	read(0, false, 4, 2, 5, 11, nil) // dropped
	read(0, false, 0, 2, 15, 20, nil)
	read(0, false, 1, 1, 20, 22, nil) // its checksum differed
	use(0, false, 0, 2, 2, 23, 30)
	read(1, true, 0, 1, 0, 25, nil)
	read(1, true, 0, 1, 26, 31, nil) // for the next time
	use(1, true, 0, 1, 0, 32, 40)
	require.Len(t, w.reads, 1)
	use(1, true, 0, 1, 1, 41, 50)
	use(1, false, 7, 1, -1, 41, 50) // pinned
	w.Pager(pager.Event{Kind: pager.Drop, Stage: 0, First: 4, Count: 2, Start: w.at(12), End: w.at(12)})
	w.Pager(pager.Event{Kind: pager.Wait, Stage: 0, First: 0, Count: 2, Start: w.at(12), End: w.at(22)})
	require.Empty(t, w.reads)
	require.NoError(t, w.Close())

	tracks := parse(t, file.Bytes())
	got := map[string][]string{}
	for name, lines := range tracks {
		for _, e := range lines {
			got[name] = append(got[name], fmt.Sprintf("%s %d-%d", e.Name, e.start()/1e6, e.end()/1e6))
		}
	}
	require.Equal(t, map[string][]string{
		"reader 0":        {"layer 0 experts 0-1 0-10"},
		"reader 1":        {"layer 0 experts 4-5 5-11", "layer 0 experts 0-1 15-20", "layer 0 experts 1 20-22"},
		"reader 2":        {"layer 1 dense 0 0-25", "layer 1 dense 0 26-31"},
		"bank 0":          {"filling 0-22", "ready 22-23", "in use 23-30"},
		"dense slot 0":    {"filling 0-25", "ready 25-32", "in use 32-40"},
		"dense slot 1":    {"filling 26-31", "ready 31-41", "in use 41-50"},
		"waits for reads": {"layer 0 experts 0-1 12-22"},
	}, got)
	require.Equal(t, "bad \"cable\"\x01", tracks["reader 0"][0].Args["error"])
}

// A writer that fails is told of by Close.
func TestWriterFails(t *testing.T) {
	r, pipe := io.Pipe()
	require.NoError(t, r.Close())
	w := NewWriter(pipe)
	for range 5000 {
		w.Event(runtime.Event{Kind: runtime.BatchRan, Start: w.began, End: w.began})
	}
	require.ErrorIs(t, w.Close(), io.ErrClosedPipe)
}

func TestMicros(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.000", 1: "0.001", 1234567: "1234.567", -1500: "-1.500"} {
		text, err := micros(d).MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}
