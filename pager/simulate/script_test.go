package simulate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/pager"
	"estream/pager/simulate"
)

var update = flag.Bool("update", false, "write what the simulations of testdata give into them")

// TestScripts simulates the passes of testdata and compares all that happens. A pass is a line for itself and one for each
// stage; a word is KEY=VALUE, where rows are of each expert and stages are so many of their kind:
//
//	pass schedule=before-routing q=1 b=2 g=2 heads=1 rate=BYTES/S latency=D check=BYTES/S fetch=BYTES,... embed=D
//	stage times=1 dense=BYTES,... time=D,... stride=BYTES rows=N,... call=D row=D side=D tail=D before=N,... after=N,...
//	pin stage=N dense=0 first=N count=1 loaded=0
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			var events strings.Builder
			c := parse(t, string(a.Files[0].Data))
			c.Trace = func(e simulate.Event) { fmt.Fprintln(&events, e) }
			totals, err := simulate.Run(c)
			result := fmt.Sprintf("%+v\nbubble %.2f %%\n", totals, 100*totals.Bubble())
			if err != nil {
				result = err.Error() + "\n"
			}
			got := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{a.Files[0], {Name: "events", Data: []byte(events.String())}, {Name: "totals", Data: []byte(result)}}}
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(got), 0o644))
			}
			require.Equal(t, string(txtar.Format(a)), string(txtar.Format(got)))
		})
	}
}

// words is a line's values by key.
type words struct {
	*testing.T
	of map[string]string
}

func (w words) ints(key string) (out []int) {
	for s := range strings.SplitSeq(w.of[key], ",") {
		if s != "" {
			n, err := strconv.Atoi(s)
			require.NoError(w, err, key)
			out = append(out, n)
		}
	}
	return out
}

func (w words) int(key string, otherwise int) int {
	if n := w.ints(key); n != nil {
		return n[0]
	}
	return otherwise
}

func (w words) times(key string) (out []time.Duration) {
	for s := range strings.SplitSeq(w.of[key], ",") {
		if s != "" {
			d, err := time.ParseDuration(s)
			require.NoError(w, err, key)
			out = append(out, d)
		}
	}
	return out
}

func (w words) time(key string) time.Duration { return append(w.times(key), 0)[0] }

func parse(t *testing.T, text string) (c simulate.Config) {
	c = simulate.Config{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		w := words{t, map[string]string{}}
		for _, word := range f[1:] {
			key, value, _ := strings.Cut(word, "=")
			w.of[key] = value
		}
		switch f[0] {
		case "pass":
			for c.Schedule.String() != w.of["schedule"] {
				c.Schedule++
			}
			c.Readers, c.Heads, c.Embed = w.int("q", 1), w.int("heads", 1), w.time("embed")
			c.Arena = pager.Geometry{Banks: w.int("b", 2), Group: w.int("g", 2), Stride: 1 << 20, DenseSlot: 1 << 20}
			c.Disk = simulate.Disk{Rate: float64(w.int("rate", 0)), Latency: w.time("latency"), Check: float64(w.int("check", 0))}
			for _, n := range w.ints("fetch") {
				c.Fetch = append(c.Fetch, int64(n))
			}
		case "stage":
			for range w.int("times", 1) {
				c.Stages = append(c.Stages, stage(w))
			}
		case "pin":
			c.Pins = append(c.Pins, simulate.Pin{Stage: w.int("stage", 0), Dense: w.int("dense", 0) > 0, First: w.int("first", 0),
				Count: w.int("count", 1), Loaded: w.int("loaded", 0) > 0})
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return c
}

func stage(w words) simulate.Stage {
	st := simulate.Stage{Stride: int64(w.int("stride", 0)), Rows: w.ints("rows"), Side: w.time("side"), Tail: w.time("tail")}
	st.Before, st.After = w.ints("before"), w.ints("after")
	times := w.times("time")
	for i, n := range w.ints("dense") {
		d := simulate.Dense{Bytes: int64(n)}
		if i < len(times) {
			d.Time = times[i]
		}
		st.Dense = append(st.Dense, d)
	}
	call, row := w.time("call"), w.time("row")
	st.Group = func(rows []int) time.Duration {
		d := call
		for _, n := range rows {
			d += row * time.Duration(n)
		}
		return d
	}
	return st
}
