package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A step is an update of a bar, some time after the last.
type step struct {
	after time.Duration
	done  int64
	want  string // what it prints
}

func TestProgress(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name     string
		terminal bool
		steps    []step
	}{
		{"lines", false, []step{
			{0, 0, ""},
			{4 * time.Second, 80 * mib, ""},
			{time.Second, 100 * mib, "packing  10 % of 1000.0 MiB, 20.0 MiB/s, 45s left\n"},
			{time.Second, 500 * mib, ""},
			{9 * time.Second, 900 * mib, "packing  90 % of 1000.0 MiB, 60.0 MiB/s, 2s left\n"},
			{5 * time.Second, 1000 * mib, "packing 100 % of 1000.0 MiB, 50.0 MiB/s, 0s left\n"},
		}},
		{"what an earlier run made has no rate", false, []step{
			{0, 600 * mib, ""},
			{5 * time.Second, 600 * mib, "packing  60 % of 1000.0 MiB, 0 B/s\n"},
			{5 * time.Second, 800 * mib, "packing  80 % of 1000.0 MiB, 20.0 MiB/s, 10s left\n"},
		}},
		{"a bar", true, []step{
			{0, 0, ""},
			{50 * time.Millisecond, 100 * mib, ""},
			{50 * time.Millisecond, 100 * mib, "\r[###                           ] packing  10 % of 1000.0 MiB, 1000.0 MiB/s, 1s left\x1b[K"},
			{900 * time.Millisecond, 1000 * mib, "\r[##############################] packing 100 % of 1000.0 MiB, 1000.0 MiB/s, 0s left\x1b[K"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			now := time.Unix(1, 0)
			p := &progress{w: &out, what: "packing", terminal: c.terminal, now: func() time.Time { return now }}
			for i, s := range c.steps {
				out.Reset()
				now = now.Add(s.after)
				p.update(s.done, 1000*mib)
				require.Equal(t, s.want, out.String(), "step %d", i)
			}
			out.Reset()
			p.end()
			require.Equal(t, map[bool]string{true: "\r\x1b[K", false: ""}[c.terminal], out.String())
		})
	}
}

// Nothing to do prints nothing, and divides by nothing.
func TestProgressOfNothing(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1, 0)
	p := &progress{w: &out, what: "packing", now: func() time.Time { return now }}
	for range 3 {
		p.update(0, 0)
		now = now.Add(time.Minute)
	}
	require.Empty(t, out.String())
}
