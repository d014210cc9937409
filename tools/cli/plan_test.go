package cli_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownCache gives a test a folder of caches of its own.
func ownCache(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	return dir
}

// unhurried is what a plan said but for how long it takes, which a slow machine shows.
func unhurried(said string) string {
	return regexp.MustCompile(`(?m)^(measuring|planning) on \S+, (\d+m)?\d+s(: .*)?\n`).ReplaceAllString(said, "")
}

// unhurriedEnd is what an interrupted command said but for how long it takes to end, which a slow machine shows.
func unhurriedEnd(said string) string {
	return regexp.MustCompile(`ending when what is under way returns; Ctrl-C again ends at once\r?\n`).ReplaceAllString(said, "")
}

func TestPlan(t *testing.T) {
	ownCache(t)
	dir, plot := packed(t, tiny, "w4"), filepath.Join(t.TempDir(), "p.svg")
	r := ok(t, "plan", "--tokens", "8,64", "--plot", plot, dir)
	require.Equal(t, "plot written to "+plot+"\n", unhurried(r.errors))
	require.Regexp(t, `(?s)^profile  measured in [0-9.]+ s
disk     \S+ \S+/s, \d+ us a read, checksums \S+ \S+/s
n\* +(\d+ tokens: from there on Texec is at least Tio; with fewer, weights in memory would be faster|1 token: the disk never limits|none: .*)

8 tokens: Q=\d B=\d+ G=\d, in chunks of 8
time +[0-9.]+ s the first run, Tio [0-9.]+ s, Texec [0-9.]+ s, bubble [0-9.-]+ %; [0-9.]+ s each one after it
memory +\S+ MiB, of it arena \S+ \S+; \S+ \S+ mapped a session
 +memory +first run +bubble +after it +bubble +Q +B +G +chunk +mapped
.*
64 tokens: Q=`, r.out)
	svg := xmlFile(t, plot)
	require.Equal(t, 4, strings.Count(svg, "<polyline"), "a first and a next run of two lengths")
	require.Contains(t, svg, ">64 tokens<")
	plot = filepath.Join(t.TempDir(), "p.html")
	r = ok(t, "plan", "--tokens", "8", "--plot", plot, dir)
	page := xmlFile(t, plot)
	require.Regexp(t, `(?s)^<!DOCTYPE html>\n.*<svg .*</svg>\n<pre.*8 tokens: Q=.*</html>\n$`, page)
	require.Contains(t, page, r.out, "the text that is printed")

	r = ok(t, "plan", "--json", "--tokens", "8", "--readers", "3", "--banks", "2", "--group", "1", "--memory", "1GiB", dir)
	require.Empty(t, unhurried(r.errors), "the profile was kept")
	v := object(t, r)
	requireKeys(t, v, "package", "profile", "n_star", "schedule", "plans")
	p := v["plans"].([]any)[0].(map[string]any)
	requireKeys(t, p, "tokens", "q", "b", "g", "chunk", "ttft_s", "tio_s", "texec_s", "bubble", "next_s", "next_tio_s", "next_bubble",
		"bytes_read", "next_bytes_read", "plan_bytes", "arena_bytes", "mapped_bytes", "frontier")
	require.Equal(t, []any{8.0, 3.0, 2.0, 1.0, 0.0}, []any{p["tokens"], p["q"], p["b"], p["g"], p["next_bytes_read"]})
	require.Greater(t, p["mapped_bytes"], p["arena_bytes"], "what stays in memory is mapped too")
	require.NotEmpty(t, p["frontier"])
	require.Regexp(t, `^profile  measured 20\d\d-\d\d-\d\d \S+ UTC; --fresh measures anew\n`, ok(t, "plan", "--tokens", "8", dir).out)
	require.Regexp(t, `^profile  measured in `, ok(t, "plan", "--tokens", "8", "--fresh", dir).out)
	require.Regexp(t, `^profile  measured in `, ok(t, "plan", "--tokens", "8", "--read-limit", "1GB/s", dir).out, "a profile of another disk")
}

// xmlFile is the text of a file that is well-formed XML.
func xmlFile(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return string(text)
		} else {
			require.NoError(t, err)
		}
	}
}

// From n* on Texec is the larger at each length, and no row of the table beats the choice that keeps as much in memory,
// nothing without a budget and all within a large one, in chunks as large: other rows are of smaller budgets, which may
// chance to suit a run better. What of a shape is given holds for all.
func TestPlanAgrees(t *testing.T) {
	ownCache(t)
	dir := packed(t, tiny, "w4")
	for _, more := range [][]string{{"--fresh"}, {"--readers", "3"}, {"--readers", "1", "--banks", "3", "--group", "1"}, {"--memory", "1GiB"}} {
		v := object(t, ok(t, append([]string{"plan", "--json", "--tokens", "1-4096*4", dir}, more...)...))
		star := math.Inf(1)
		if n, is := v["n_star"].(float64); is {
			star = n
		}
		for _, p := range v["plans"].([]any) {
			p := p.(map[string]any)
			at := func(row any, key string) float64 { return row.(map[string]any)[key].(float64) }
			kept := func(row any) float64 { return at(row, "mapped_bytes") - at(row, "arena_bytes") }
			if at(p, "tokens") >= star {
				require.GreaterOrEqual(t, at(p, "texec_s"), at(p, "tio_s"), "%v: n* %v: %v", more, star, p)
			}
			for _, row := range append(p["frontier"].([]any), p) {
				for i, flag := range more[:len(more)-1] {
					if key := map[string]string{"--readers": "q", "--banks": "b", "--group": "g"}[flag]; key != "" {
						require.Equal(t, more[i+1], fmt.Sprint(at(row, key)), "%v: %v", more, row)
					}
				}
				if kept(row) != kept(p) || at(row, "chunk") != at(p, "chunk") {
					continue
				}
				first, next := at(row, "ttft_s")/at(p, "ttft_s"), at(row, "next_s")/at(p, "next_s")
				if at(row, "plan_bytes") <= at(p, "plan_bytes") && max(first, next) <= 1 {
					require.Greater(t, min(first, next), 0.99, "%v: chosen %v\nbeaten by %v", more, p, row)
				}
			}
		}
	}
}

// A folder of caches that cannot be written to is told of, and is no failure.
func TestPlanNotKept(t *testing.T) {
	dir := ownCache(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "estream"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".cache"), nil, 0o644))
	r := ok(t, "plan", "--tokens", "8", packed(t, tiny, "w4"))
	require.Regexp(t, regexp.MustCompile(`^note: the profile is not kept for the next time: .*\n$`), unhurried(r.errors))
}

func TestPlanRefuses(t *testing.T) {
	ownCache(t)
	dir := packed(t, tiny, "w4")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--tokens", "0"}, 2, `estream: --tokens: "0": want 1 to 1048576, rising`},
		{[]string{"--session-limit", "many"}, 2, `estream: bad size "many"`},
		{[]string{"--memory", "1MiB"}, 1, "of which a run reads up to "},
		{[]string{"--plot", "p.png"}, 2, "--plot p.png: name a file that ends in .svg or .html"},
		{[]string{"--session-limit", "1KiB"}, 1, "1024 allowed: allow as many, or, where a budget is given, give less: more than a session of the accelerator can map"},
		{[]string{"--plot", filepath.Join(dir, "p.svg")}, 2, "lies in the package"},
	} {
		r := run(append(append([]string{"plan"}, c.args...), dir)...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.errors)
		require.Contains(t, r.errors, c.want, "%v", c.args)
	}
	r := run("plan", filepath.Join(dir, "nothing"))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "nothing")
}
