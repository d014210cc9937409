package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Work shows what it is at: every few seconds a line, on a terminal one that is drawn
// over and cleared. What goes on within a moment is the same work.
func TestOngoing(t *testing.T) {
	type do struct {
		at, detail string // empty: the end
		wait       time.Duration
		want       string // is printed until then
	}
	for _, c := range []struct {
		name     string
		terminal bool
		steps    []do
	}{
		{"lines", false, []do{
			{"making", "", 4900 * time.Millisecond, ""},
			{"making", "1 of 3", 200 * time.Millisecond, "making, 5s: 1 of 3\n"},
			{"making", "", 9800 * time.Millisecond, "making, 10s\n"},
			{"", "", time.Minute, ""},
			{"other", "", 5100 * time.Millisecond, "other, 5s\n"},
		}},
		{"parts of a work", false, []do{
			{"a", "", 3 * time.Second, ""},
			{"", "", 500 * time.Millisecond, ""},
			{"b", "", 3 * time.Second, "b, 5s\n"},
			{"", "", 2 * time.Second, ""},
			{"c", "", 4 * time.Second, ""},
		}},
		{"short work", true, []do{{"making", "", 50 * time.Millisecond, ""}, {"", "", time.Second, ""}, {"", "", time.Second, ""}}},
		{"a line", true, []do{
			{"making", "", 150 * time.Millisecond, "\rmaking, 0s\x1b[K"},
			{"making", "ÄÖÜdefghijkl", 100 * time.Millisecond, "\rmaking, 0s: ÄÖÜdefg\x1b[K"},
			{"making", "\x1b", 50 * time.Millisecond, "\rmaking, 0s: \uFFFD\x1b[K"},
			{"", "", time.Minute, "\r\x1b[K"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				o := &ongoing{w: &out, terminal: c.terminal, width: func() int { return 20 }, now: time.Now}
				defer o.end()
				for i, s := range c.steps {
					out.Reset()
					if s.at == "" {
						o.end()
					} else {
						o.at(s.at, s.detail)
					}
					time.Sleep(s.wait)
					synctest.Wait()
					require.Equal(t, s.want, out.String(), "step %d", i)
				}
			})
		})
	}
}
