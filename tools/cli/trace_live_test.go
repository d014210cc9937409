package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
)

// A clocked is a live whose time stands still between events.
type clocked struct {
	*live
	out   bytes.Buffer
	began time.Time
	at    time.Duration
}

func newClocked(terminal bool) *clocked {
	c := &clocked{began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.live = &live{w: &c.out, terminal: terminal, width: func() int { return 120 }, now: func() time.Time { return c.began.Add(c.at) }}
	c.begin(4, runtime.Plan{Tokens: 512, Geometry: pager.Geometry{Banks: 3}})
	return c
}

func (c *clocked) reads(layer, first int, from, to time.Duration) {
	c.pager(pager.Event{Kind: pager.Read, Stage: layer, First: first, Count: 2, Bytes: 100 << 20, Start: c.began.Add(from), End: c.began.Add(to)})
}

func (c *clocked) ran(layer int, from, to time.Duration) {
	c.at = to
	c.event(runtime.Event{Kind: runtime.ProgramRan, Layer: layer, Start: c.began.Add(from), End: c.began.Add(to)})
}

func TestLive(t *testing.T) {
	const s = time.Second
	c := newClocked(false)
	c.ran(-1, 0, s) // too soon for a line
	c.reads(1, 0, s, 3*s)
	c.reads(1, 2, 2*s, 5*s)
	c.reads(1, 4, 5*s, 6*s)
	c.pager(pager.Event{Kind: pager.Drop, Stage: 1, First: 4, Count: 2})
	c.at = 6 * s
	c.event(runtime.Event{Kind: runtime.RecordsUsed, Layer: 1, First: 0, Count: 2, Start: c.began, End: c.began})
	require.Regexp(t, `^embeddings, 512 tokens, 6\.0 s, banks 1/3, 100\.0 MiB/s, bubble 17 %, \S+ .iB\n$`, c.out.String())
	c.out.Reset()
	c.ran(1, 6*s, 12*s)
	require.Contains(t, c.out.String(), "layer 1/4, 512 tokens, 12.0 s, banks 1/3, 0 B/s, bubble 42 %, ")
	c.reads(4, 0, 12*s, 13*s)
	c.out.Reset()
	c.ran(4, 13*s, 20*s)
	require.Contains(t, c.out.String(), "head, ")
	c.end()
	require.NotContains(t, c.out.String(), "\x1b", "no terminal")
}

// On a terminal a line is drawn over, never wraps, and is cleared at the end; what
// comes after the end draws nothing.
func TestLiveOnTerminal(t *testing.T) {
	c := newClocked(true)
	c.ran(0, 0, 50*time.Millisecond)
	require.Empty(t, c.out.String())
	c.ran(0, 0, 150*time.Millisecond)
	line := c.out.String()
	require.Regexp(t, `^\r\[#{4} {20}\] layer 0/4, 512 tokens, .*iB\x1b\[K$`, line)
	c.width = func() int { return 30 }
	c.out.Reset()
	c.ran(0, 0, 300*time.Millisecond)
	line = c.out.String()
	require.Equal(t, "\rlayer 0/4, 512 tokens, 0.3 s,\x1b[K", line)
	c.end()
	require.Equal(t, line+"\r\x1b[K", c.out.String())
	c.ran(1, 0, time.Hour)
	require.Equal(t, line+"\r\x1b[K", c.out.String())
}

// A model tells l beside whom it told before; a nil one takes nothing.
func TestLiveWatch(t *testing.T) {
	var events, reads int
	o := runtime.Options{Events: func(runtime.Event) { events++ }, Trace: func(pager.Event) { reads++ }}
	c := newClocked(true)
	c.watch(&o)
	o.Events(runtime.Event{Kind: runtime.ProgramRan, Layer: 3})
	o.Trace(pager.Event{Kind: pager.Read, Stage: 3, Count: 1, Bytes: 5, End: c.began})
	require.Equal(t, []int{1, 1, 3, 1}, []int{events, reads, c.layer, len(c.full)})

	var none *live
	none.watch(&o)
	none.begin(1, runtime.Plan{})
	none.end()
}
