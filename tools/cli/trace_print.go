package cli

import (
	"fmt"
	"strings"
	"time"

	"estream/tools/trace"
)

func percent(part, of time.Duration) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(max(1, of)))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/1e6) }

// printSummary says where a run's time went and why it waited.
func (a *App) printSummary(s trace.Summary, waits int) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("run       %s in %.3f s; bubble estimate %.1f %%", s.Tokens, s.Total.Seconds(), 100*s.Bubble())
	rate := ""
	if s.Reading > 0 {
		rate = fmt.Sprintf(", %s/s while any was in flight", formatSize(int64(float64(s.Bytes)/s.Reading.Seconds())))
	}
	p("reading   %.3f s (%s): %s in %d reads%s; %d guesses dropped", s.Reading.Seconds(), percent(s.Reading, s.Total), formatSize(s.Bytes), s.Reads, rate, s.Dropped)
	var parts []string
	for _, g := range s.Graphs {
		parts = append(parts, fmt.Sprintf("%s %s", g.Name, percent(g.Took, s.Compute)))
	}
	p("computing %.3f s (%s): %s", s.Compute.Seconds(), percent(s.Compute, s.Total), strings.Join(parts, ", "))
	p("other     %.3f s (%s): neither computing nor waiting: between programs, and before the first", s.Neither().Seconds(), percent(s.Neither(), s.Total))
	p("waiting   %.3f s (%s) in %d waits", s.Waiting.Seconds(), percent(s.Waiting, s.Total), len(s.Delays))
	for _, c := range s.Causes {
		p("          %s in %d: %s", millis(c.Took), c.N, trace.Cause(c.Name).Doc())
	}
	if len(s.Delays) > 0 && waits > 0 {
		p("%-12s %-12s %-28s %s", "waited", "at", "for", "because")
	}
	for _, d := range s.Delays[:min(waits, len(s.Delays))] {
		p("%-12s %-12s %-28s %s", millis(d.Wait.Took()), millis(d.Wait.Start), ofHead(d.Wait.Records, s.Head), ofHead(because(d), s.Head))
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// ofHead calls the layer after the last what it is.
func ofHead(text string, head int) string {
	if head == 0 {
		return text
	}
	return strings.ReplaceAll(text, fmt.Sprintf("layer %d dense", head), "head dense")
}

// because tells of the read that a wait ended with.
func because(d trace.Delay) string {
	if d.Read == nil {
		return trace.Unknown.Doc()
	}
	when := fmt.Sprintf("had begun %s before", millis(d.Before))
	if d.Before < 0 {
		when = fmt.Sprintf("began %s into the wait", millis(-d.Before))
	}
	return fmt.Sprintf("%s: its read of %s took %s and %s, when %s", d.Cause, formatSize(d.Read.Bytes), millis(d.Read.Took()), when, d.After)
}

// summaryJSON is a summary as JSON; times are in seconds.
func summaryJSON(s trace.Summary, waits int) map[string]any {
	parts := func(ps []trace.Part) []map[string]any {
		out := []map[string]any{}
		for _, p := range ps {
			out = append(out, map[string]any{"name": p.Name, "s": p.Took.Seconds(), "n": p.N})
		}
		return out
	}
	delays := []map[string]any{}
	for _, d := range s.Delays[:min(waits, len(s.Delays))] {
		fields := map[string]any{"at_s": d.Wait.Start.Seconds(), "s": d.Wait.Took().Seconds(), "records": d.Wait.Records, "cause": string(d.Cause), "after": d.After}
		if d.Read != nil {
			fields["read_s"], fields["read_bytes"], fields["read_before_s"] = d.Read.Took().Seconds(), d.Read.Bytes, d.Before.Seconds()
		}
		delays = append(delays, fields)
	}
	return map[string]any{
		"run": s.Tokens, "run_s": s.Total.Seconds(), "reading_s": s.Reading.Seconds(), "computing_s": s.Compute.Seconds(), "waiting_s": s.Waiting.Seconds(), "neither_s": s.Neither().Seconds(),
		"bubble_estimate": s.Bubble(), "bytes_read": s.Bytes, "reads": s.Reads, "dropped": s.Dropped, "graphs": parts(s.Graphs), "causes": parts(s.Causes), "waits": delays,
	}
}
