package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/term"
)

// An ongoing shows that long work goes on of which nobody knows how much is left: what
// it is at, and for how long it has been, on a line that is drawn over on a terminal and
// on a line every few seconds elsewhere. Short work shows nothing. Its goroutine ends
// with the work.
type ongoing struct {
	w        io.Writer
	terminal bool
	width    func() int // of the terminal
	now      func() time.Time
	over     <-chan struct{} // from then on nothing is shown; nil: never

	mu           sync.Mutex
	what, detail string
	began, ended time.Time
	shown        time.Time
	drawn        bool          // a line stands on the terminal
	stop         chan struct{} // ends the goroutine; nil: no work is under way
}

// ongoing shows work until ctx is done, whatever goes on after that.
func (a *App) ongoing(ctx context.Context) *ongoing {
	o := &ongoing{w: a.Stderr, terminal: drawsOver(a.Stderr), width: widthOf(a.Stderr), now: time.Now, over: ctx.Done()}
	context.AfterFunc(ctx, o.end)
	return o
}

// widthOf returns what tells the columns of a terminal.
func widthOf(w io.Writer) func() int {
	f := file(w)
	return func() int {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
		return 80
	}
}

// pause is how long after the end of work that which begins is the same work.
const pause = time.Second

// at says what the work is, and in detail what it is at, if that is known. It begins with
// that if it is not under way.
func (o *ongoing) at(what, detail string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.over:
		return
	default:
	}
	if o.what, o.detail = what, detail; o.stop != nil {
		o.drawDue()
		return
	}
	if now := o.now(); o.ended.IsZero() || now.Sub(o.ended) > pause {
		o.began, o.shown = now, now
	}
	o.stop = make(chan struct{})
	go o.tick(o.stop)
	o.drawDue() // short steps one after another are long work too
}

// tick draws until stop is closed.
func (o *ongoing) tick(stop <-chan struct{}) {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			o.draw()
		}
	}
}

func (o *ongoing) draw() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drawDue()
}

// drawDue draws if it is time to.
func (o *ongoing) drawDue() {
	now, every := o.now(), 5*time.Second
	if o.terminal {
		every = 100 * time.Millisecond
	}
	if o.stop == nil || now.Sub(o.shown) < every {
		return
	}
	o.shown = now
	line := fmt.Sprintf("%s, %s", o.what, now.Sub(o.began).Truncate(time.Second))
	if o.detail != "" {
		line += ": " + o.detail
	}
	line = visible(line)
	if !o.terminal {
		fmt.Fprintln(o.w, line)
		return
	}
	o.drawn = true
	fits := []rune(line)
	fits = fits[:min(len(fits), max(0, o.width()-1))] // one that wraps cannot be drawn over
	fmt.Fprintf(o.w, "\r%s\x1b[K", string(fits))
}

// end clears the line. What comes within a pause is the same work.
func (o *ongoing) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop == nil {
		return
	}
	close(o.stop)
	o.stop, o.ended = nil, o.now()
	if o.drawn {
		o.drawn = false
		fmt.Fprint(o.w, "\r\x1b[K")
	}
}
