package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A progress shows how far long work has come: a bar that is drawn over on a
// terminal, a line every few seconds elsewhere. What the first update finds done
// was done before: the rate is that of the rest. It is used by one goroutine at a
// time.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	now      func() time.Time

	began time.Time // of the first update; zero before it
	had   int64     // done by then
	shown time.Time
}

func (a *App) progress(what string) *progress {
	return &progress{w: a.Stderr, what: what, terminal: drawsOver(a.Stderr), now: time.Now}
}

// drawsOver reports whether a line of w can be drawn over: w is a terminal that can.
func drawsOver(w io.Writer) bool {
	f := file(w)
	return f != nil && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

func (p *progress) update(done, total int64) {
	now := p.now()
	if p.began.IsZero() {
		p.began, p.shown, p.had = now, now, done
	}
	every := 5 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if now.Sub(p.shown) < every || total == 0 {
		return
	}
	p.shown = now
	line := p.line(done, total, now.Sub(p.began))
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	const width = 30
	fill := int(width * done / total)
	fmt.Fprintf(p.w, "\r[%s%s] %s\x1b[K", strings.Repeat("#", fill), strings.Repeat(" ", width-fill), line)
}

func (p *progress) line(done, total int64, elapsed time.Duration) string {
	rate := float64(done-p.had) / elapsed.Seconds()
	line := fmt.Sprintf("%s %3d %% of %s, %s/s", p.what, 100*done/total, formatSize(total), formatSize(int64(rate)))
	if rate > 0 {
		line += fmt.Sprintf(", %s left", time.Duration(float64(total-done)/rate*1e9).Round(time.Second))
	}
	return line
}

// end clears the bar.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
