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
// terminal, a line every few seconds elsewhere. It is used by one goroutine at a
// time.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	began    time.Time
	shown    time.Time
}

func (a *App) progress(what string) *progress {
	f, ok := a.Stderr.(*os.File)
	now := time.Now()
	return &progress{w: a.Stderr, what: what, terminal: ok && term.IsTerminal(int(f.Fd())), began: now, shown: now}
}

func (p *progress) update(done, total int64) {
	now := time.Now()
	every := 5 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if now.Sub(p.shown) < every || total == 0 {
		return
	}
	p.shown = now
	elapsed := now.Sub(p.began)
	rate := float64(done) / elapsed.Seconds()
	line := fmt.Sprintf("%s %3d %% of %s, %s/s", p.what, 100*done/total, formatSize(total), formatSize(int64(rate)))
	if rate > 0 {
		line += fmt.Sprintf(", %s left", time.Duration(float64(total-done)/rate*1e9).Round(time.Second))
	}
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	const width = 30
	fill := int(width * done / total)
	fmt.Fprintf(p.w, "\r[%s%s] %s\x1b[K", strings.Repeat("#", fill), strings.Repeat(" ", width-fill), line)
}

// end clears the bar.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
