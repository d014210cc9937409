package trace

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
)

// A script writes a made-up trace; times are in milliseconds.
type script struct {
	*Writer
	file bytes.Buffer
}

func newScript() *script {
	s := &script{}
	s.Writer = NewWriter(&s.file)
	return s
}

func (s *script) read(layer, first, count, from, to int, err error) {
	s.Pager(pager.Event{Kind: pager.Read, Stage: layer, First: first, Count: count, Bytes: 1000, Start: s.at(from), End: s.at(to), Err: err})
}

func (s *script) wait(layer, first, count, from, to int) {
	s.Pager(pager.Event{Kind: pager.Wait, Stage: layer, First: first, Count: count, Start: s.at(from), End: s.at(to)})
}

func (s *script) drop(layer, first, count, at int) {
	s.Pager(pager.Event{Kind: pager.Drop, Stage: layer, First: first, Count: count, Start: s.at(at), End: s.at(at)})
}

func (s *script) ran(layer int, graph string, from, to int) {
	s.Event(runtime.Event{Kind: runtime.ProgramRan, Layer: layer, Graph: graph, Rows: 4, On: "host", Start: s.at(from), End: s.at(to)})
}

func (s *script) used(layer, first, count, cell, from, to int) {
	s.Event(runtime.Event{Kind: runtime.RecordsUsed, Layer: layer, First: first, Count: count, Cell: cell, Start: s.at(from), End: s.at(to)})
}

func (s *script) batch(tokens, from, to int) {
	s.Event(runtime.Event{Kind: runtime.BatchRan, Rows: tokens, Start: s.at(from), End: s.at(to)})
}

func (s *script) timeline(t testing.TB) *Timeline {
	t.Helper()
	require.NoError(t, s.Close())
	line, err := Read(&s.file)
	require.NoError(t, err)
	return line
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// A trace that a run wrote comes back: as many slices, and the times of the run.
func TestReadBack(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	m := model(t, w, runtime.Options{Readers: 2, Banks: 2, Group: 2, Chunk: 16})
	var bytes int64
	for _, n := range []int{40, 3} {
		res, err := m.Run(t.Context(), runtime.Batch{Prompts: prompt(n), Logits: runtime.All})
		require.NoError(t, err)
		bytes += res.Stats.Bytes
	}
	require.NoError(t, w.Close())
	tracks := parse(t, file.Bytes())
	line, err := Read(&file)
	require.NoError(t, err)
	require.Len(t, line.Programs, len(tracks["programs"]))
	require.Len(t, line.Waits, len(tracks["waits for reads"]))
	for i, bank := range line.Banks {
		require.Len(t, bank, len(tracks[fmt.Sprintf("bank %d", i)]))
	}
	require.Equal(t, -1, line.Programs[0].Layer)
	require.Equal(t, 3, line.head())
	s := line.Summarize()
	require.Equal(t, "40 tokens, 3 tokens", s.Tokens)
	require.Equal(t, bytes, s.Bytes)
	require.Equal(t, line.Batches[0].Took()+line.Batches[1].Took(), s.Total)
	require.Len(t, s.Delays, len(line.Waits))
	var waited time.Duration
	for i, d := range s.Delays {
		waited += d.Wait.Took()
		require.True(t, i == 0 || d.Wait.Took() <= s.Delays[i-1].Wait.Took())
		require.NotNil(t, d.Read, "%+v", d.Wait)
	}
	require.Equal(t, s.Waiting, waited)
	from, to, ok := line.During(1, 1)
	require.True(t, ok)
	require.Less(t, from, to)
	_, _, ok = line.During(7, 9)
	require.False(t, ok)
}

// Each cause of waiting, as it looks in a trace.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name  string
		play  func(s *script)
		want  Cause
		after string
	}{
		{"the first records", func(s *script) {
			s.read(0, 0, 2, 0, 10, nil)
			s.wait(0, 0, 2, 1, 10)
		}, Start, "the run had begun"},
		{"the disk is busy", func(s *script) {
			s.read(0, 0, 2, 0, 10, nil)
			s.read(0, 2, 2, 10, 20, nil)
			s.used(0, 0, 2, 2, 10, 12)
			s.wait(0, 2, 2, 12, 20)
		}, Disk, "the disk had read other records"},
		{"no bank is free", func(s *script) {
			s.read(0, 0, 2, 0, 10, nil)
			s.used(0, 0, 2, 2, 10, 50)
			s.read(0, 2, 2, 50, 60, nil)
			s.wait(0, 2, 2, 50, 60)
		}, Banks, "bank 0 was given back by layer 0 experts 0-1"},
		{"routes come late", func(s *script) {
			s.ran(0, "c0.route", 20, 40)
			s.read(0, 2, 2, 40, 50, nil)
			s.wait(0, 2, 2, 40, 50)
		}, Routes, "layer 0 was routed"},
		{"a wrong guess held the bank", func(s *script) {
			s.read(0, 0, 2, 0, 10, nil)
			s.ran(0, "c0.route", 20, 40)
			s.drop(0, 0, 2, 41)
			s.read(0, 2, 2, 41, 50, nil)
			s.wait(0, 2, 2, 40, 50)
		}, Routes, "the guess layer 0 experts 0-1 was dropped"},
		{"read again after it was dropped", func(s *script) {
			s.read(0, 2, 2, 0, 10, nil)
			s.drop(0, 2, 2, 20)
			s.read(0, 2, 2, 30, 50, nil)
			s.wait(0, 2, 2, 32, 50)
		}, Reread, "it had been read before and dropped"},
		{"read again after a fault", func(s *script) {
			s.read(0, 2, 2, 0, 10, errors.New("input/output error"))
			s.read(0, 2, 2, 15, 50, nil)
			s.wait(0, 2, 2, 5, 50)
		}, Reread, "a read of it failed: input/output error"},
		{"no read in the trace", func(s *script) { s.wait(0, 2, 2, 5, 50) }, Unknown, ""},
	} {
		s := newScript()
		c.play(s)
		s.batch(5, 0, 100)
		sum := s.timeline(t).Summarize()
		require.Len(t, sum.Delays, 1, c.name)
		d := sum.Delays[0]
		require.Equal(t, []any{c.want, c.after}, []any{d.Cause, d.After}, c.name)
		require.NotEmpty(t, d.Cause.Doc())
	}
}

// A guess that an earlier batch dropped is not why a later one reads.
func TestCausesOfBatches(t *testing.T) {
	s := newScript()
	s.read(0, 2, 2, 0, 10, nil)
	s.drop(0, 2, 2, 20)
	s.batch(5, 0, 100)
	s.read(0, 2, 2, 101, 150, nil)
	s.wait(0, 2, 2, 102, 150)
	s.batch(6, 100, 200)
	d := s.timeline(t).Summarize().Delays[0]
	require.Equal(t, []any{Start, "the run had begun"}, []any{d.Cause, d.After})
}

// A trace of many runs takes no time that grows with the square of them.
func TestCausesOfMany(t *testing.T) {
	line := &Timeline{Readers: [][]Slice{nil}}
	for i := range 60_000 {
		at := ms(10 * i)
		line.Batches = append(line.Batches, Slice{Start: at, End: at + ms(9)})
		line.Readers[0] = append(line.Readers[0], Slice{Records: "layer 0 experts 1-2", Start: at + ms(1), End: at + ms(3)})
		line.Waits = append(line.Waits, Slice{Records: "layer 0 experts 2", Start: at + ms(2), End: at + ms(3)})
		line.Drops = append(line.Drops, Slice{Records: "layer 0 experts 3", Start: at + ms(1), End: at + ms(1)})
	}
	begun := time.Now()
	s := line.Summarize()
	require.Less(t, time.Since(begun), 20*time.Second)
	require.Len(t, s.Causes, 1)
	require.Equal(t, Part{string(Routes), ms(60_000), 60_000}, s.Causes[0])
}

func TestSummarize(t *testing.T) {
	s := newScript()
	s.read(0, 0, 2, 0, 10, nil)
	s.read(0, 2, 2, 5, 20, nil) // together they are 20
	s.read(0, 4, 2, 30, 40, nil)
	s.ran(0, "c0.body", 10, 30)
	s.ran(0, "expert0@R4", 30, 60)
	s.ran(1, "head.proj", 60, 65)
	s.wait(0, 0, 2, 2, 10)
	s.drop(0, 4, 2, 41)
	s.batch(7, 0, 100)
	sum := s.timeline(t).Summarize()
	require.Equal(t, []any{"7 tokens", ms(100), ms(30), ms(55), ms(8), 3, 1}, []any{sum.Tokens, sum.Total, sum.Reading, sum.Compute, sum.Waiting, sum.Reads, sum.Dropped})
	require.Equal(t, []Part{{"experts", ms(30), 1}, {"body", ms(20), 1}, {"head.proj", ms(5), 1}}, sum.Graphs)
	require.InDelta(t, 0.45, sum.Bubble(), 1e-9)
	require.Equal(t, []any{1, ms(37)}, []any{sum.Head, sum.Neither()})
}

// What is no trace is refused with words, never a panic.
var refused = map[string]string{
	``:                              "no trace: it has no traceEvents: unexpected EOF",
	`[]`:                            "no trace: it has no traceEvents: unexpected EOF",
	`{"traceEvents":7}`:             "no trace: traceEvents is no list",
	`{"traceEvents":[]}`:            "the trace has no run in it",
	`{"traceEvents":[{"ph":"X"}`:    "the trace is cut off: unexpected EOF",
	`{"traceEvents":[{"tid":"x"}]}`: "cannot unmarshal string",
	`{"traceEvents":[{"ph":"M","name":"thread_name","tid":1,"args":{"name":"programs"}},{"ph":"X","tid":1,"ts":-1}]}`:           "is out of range",
	`{"traceEvents":[{"ph":"M","name":"thread_name","tid":1,"args":{"name":"programs"}},{"ph":"X","tid":1,"ts":1,"dur":1e30}]}`: "is out of range",
	`{"traceEvents":[{"ph":"M","name":"thread_name","tid":1,"args":{"name":"bank 99999999"}},{"ph":"X","tid":1,"ts":1}]}`:       `track "bank 99999999" has no number from 0 to 65535`,
}

func TestRefused(t *testing.T) {
	for text, want := range refused {
		_, err := Read(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzRead(f *testing.F) {
	for text := range refused {
		f.Add(text)
	}
	f.Add(`{"traceEvents":[{"ph":"M","name":"thread_name","tid":1,"args":{"name":"programs"}},{"ph":"X","tid":1,"ts":1,"dur":2,"args":{"layer":3,"graph":"c0.route"}},
{"ph":"M","name":"thread_name","tid":4,"args":{"name":"waits for reads"}},{"ph":"X","tid":4,"ts":1,"dur":2,"args":{"records":"layer 3 experts 0-1"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		line, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		line.Summarize()
		from, to := line.Span()
		require.NoError(t, line.SVG(io.Discard, "x", from, to))
	})
}

// The drawing is XML with a row for each reader, cell and kind of computation, in
// which nothing lies outside, and a name cannot break it.
func TestSVG(t *testing.T) {
	s := newScript()
	for i := range 3000 {
		s.ran(i%8, "c0.body", i, i+1)
		s.read(i%8, 0, 2, i, i+1, nil)
		s.used(i%8, 0, 2, 2, i+1, i+2)
	}
	s.wait(1, 0, 2, 100, 600)
	s.drop(1, 4, 2, 700)
	s.batch(7, 0, 3001)
	line := s.timeline(t)
	var whole, part bytes.Buffer
	from, to := line.Span()
	require.NoError(t, line.SVG(&whole, "<a> & \"b\"\x00\x1b\uffff", from, to))
	require.NoError(t, line.SVG(&part, "part", ms(100), ms(108)))
	for _, text := range []string{whole.String(), part.String()} {
		require.NoError(t, xml.Unmarshal([]byte(text), new(struct{})), text)
		for _, label := range []string{">flash read 0<", ">bank 0<", ">compute: dense<", ">waits<", ">layer 0, 6, ..<", ">filling<"} {
			require.Contains(t, text, label)
		}
		for _, m := range regexp.MustCompile(`<rect x="([0-9.]+)" y="\d+" width="([0-9.]+)"`).FindAllStringSubmatch(text, -1) {
			var x, width float64
			_, err := fmt.Sscan(m[1]+" "+m[2], &x, &width)
			require.NoError(t, err)
			require.True(t, x >= svgLeft && x+width <= svgWidth, m[0])
		}
	}
	require.Contains(t, whole.String(), "&lt;a&gt; &amp; &#34;b&#34;")
	require.Contains(t, whole.String(), ">dropped<")
	require.NotContains(t, part.String(), ">dropped<", "nothing was in that time")
	require.Less(t, whole.Len(), 2<<20, "slices that cannot be seen are not drawn one by one")
	require.Contains(t, part.String(), ">body<")
}

func TestRoundTime(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{0: 1, 1: 1, 3: 5, 7: 10, 120: 200, ms(3): ms(5)} {
		require.Equal(t, want, roundTime(in), in)
	}
}
