package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"estream/pager"
	"estream/runtime"
)

// A live shows on stderr what a run is at: a line that is drawn over on a terminal, a
// line every few seconds elsewhere. It takes the events of a model; a nil one shows
// nothing.
type live struct {
	w        io.Writer
	terminal bool
	width    func() int // of the terminal
	now      func() time.Time

	mu       sync.Mutex
	began    time.Time // zero: no run is under way
	shown    time.Time
	tokens   int
	layers   int
	banks    int
	layer    int
	full     []pager.Event // banks with records that wait to be used
	reads    []pager.Event // of the last seconds
	read     time.Time     // the latest end of a read
	reading  time.Duration // with a read in flight
	computed time.Duration // in programs
}

// rateOver is how long the rate of reading is taken over.
const rateOver = 2 * time.Second

func (a *App) newLive() *live {
	return &live{w: a.Stderr, terminal: drawsOver(a.Stderr), width: widthOf(a.Stderr), now: time.Now}
}

// watch makes a model that is opened with o tell l too.
func (l *live) watch(o *runtime.Options) {
	if l == nil {
		return
	}
	events, reads := o.Events, o.Trace
	o.Events = func(e runtime.Event) {
		if events != nil {
			events(e)
		}
		l.event(e)
	}
	o.Trace = func(e pager.Event) {
		if reads != nil {
			reads(e)
		}
		l.pager(e)
	}
}

// begin tells of the run that comes next.
func (l *live) begin(layers int, plan runtime.Plan) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.layers, l.tokens, l.banks, l.layer = l.now(), layers, plan.Tokens, plan.Geometry.Banks, -1
	l.shown, l.read, l.reading, l.computed, l.full, l.reads = l.began, l.began, 0, 0, nil, nil
}

// end clears the line.
func (l *live) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal && !l.began.IsZero() {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
	l.began = time.Time{}
}

// pager takes a read or a drop. It draws nothing: a pass is locked meanwhile.
func (l *live) pager(e pager.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.Kind == pager.Drop:
		l.gone(e.Stage, e.First, e.Count)
	case e.Kind == pager.Read && e.Err == nil:
		if e.End.After(l.read) {
			from := e.Start
			if from.Before(l.read) {
				from = l.read
			}
			l.reading += e.End.Sub(from)
			l.read = e.End
		}
		l.reads = append(l.reads, e)
		if !e.Dense && e.Stage >= 0 {
			l.full = append(l.full, e)
		}
	}
}

// gone takes banks off that hold these experts of a layer, or any of one before it.
func (l *live) gone(layer, first, count int) {
	kept := l.full[:0]
	for _, e := range l.full {
		if e.Stage > layer || e.Stage == layer && (e.First < first || e.First >= first+count) {
			kept = append(kept, e)
		}
	}
	l.full = kept
}

func (l *live) event(e runtime.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case runtime.ProgramRan:
		l.layer, l.computed = e.Layer, l.computed+e.End.Sub(e.Start)
	case runtime.RecordsUsed:
		if !e.Dense {
			l.gone(e.Layer, e.First, e.Count)
		}
	}
	l.draw()
}

func (l *live) draw() {
	now, every := l.now(), 5*time.Second
	if l.terminal {
		every = 100 * time.Millisecond
	}
	if l.began.IsZero() || now.Sub(l.shown) < every {
		return
	}
	l.shown = now
	line := l.line(now)
	if !l.terminal {
		fmt.Fprintln(l.w, line)
		return
	}
	room := l.width() - 1 // a line that wraps cannot be drawn over
	if n := min(room-len(line)-3, 24); n >= 6 {
		fill := min(n, n*(l.layer+1)/(l.layers+1))
		line = fmt.Sprintf("[%s%s] %s", strings.Repeat("#", fill), strings.Repeat(" ", n-fill), line)
	}
	fmt.Fprintf(l.w, "\r%s\x1b[K", line[:min(len(line), max(0, room))])
}

// line is what the run is at. It fits into 80 columns.
func (l *live) line(now time.Time) string {
	where := fmt.Sprintf("layer %d/%d", l.layer, l.layers)
	switch {
	case l.layer < 0:
		where = "embeddings"
	case l.layer >= l.layers:
		where = "head"
	}
	elapsed := now.Sub(l.began)
	bubble := 1 - float64(max(l.reading, l.computed))/float64(max(1, elapsed))
	return fmt.Sprintf("%s, %d tokens, %.1f s, banks %d/%d, %s/s, bubble %.0f %%, %s", where, l.tokens, elapsed.Seconds(),
		min(len(l.full), l.banks), l.banks, formatSize(l.rate(now)), 100*max(0, bubble), formatSize(runtime.PeakBytes()))
}

// rate is how many bytes a second were read of late.
func (l *live) rate(now time.Time) int64 {
	since, sum, kept := now.Add(-rateOver), int64(0), l.reads[:0]
	for _, e := range l.reads {
		if e.End.After(since) {
			sum, kept = sum+e.Bytes, append(kept, e)
		}
	}
	l.reads = kept
	return int64(float64(sum) / max(1e-3, min(rateOver, now.Sub(l.began)).Seconds()))
}
