package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"estream/tools/energy"
)

// markdown prints a table: the columns of llama-bench, then ours.
type markdown struct {
	w       io.Writer
	columns []column
	build   string // of the results; empty: none yet
}

// A column has a width of at least so many characters.
type column struct {
	name  string
	width int
	value func(r *Result) string
}

func columns(o Options) []column {
	out := []column{
		{"model", 24, func(r *Result) string { return r.ModelType }},
		{"size", 9, func(r *Result) string { return size(r.ModelSize) }},
		{"params", 8, func(r *Result) string { return billions(r.ModelParams) }},
		{"backend", 7, func(r *Result) string { return r.Backends }},
		{"threads", 7, func(r *Result) string { return fmt.Sprint(r.Threads) }},
		{"test", 7, (*Result).Name},
		{"t/s", 18, func(r *Result) string { return fmt.Sprintf("%.2f ± %.2f", r.AvgTS, r.StddevTS) }},
		{"Q B G", 8, func(r *Result) string { return fmt.Sprintf("%d %d %d", r.Q, r.B, r.G) }},
		{"arena", 10, func(r *Result) string { return size(r.ArenaBytes) }},
		{"resident", 10, func(r *Result) string { return size(r.ResidentBytes) }},
		{"read", 10, func(r *Result) string { return size(r.BytesRead) }},
		{"peak", 10, func(r *Result) string {
			if r.PeakBytes == nil {
				return "-"
			}
			return size(*r.PeakBytes)
		}},
	}
	if len(o.Chunks) > 1 {
		out = slices.Insert(out, 5, column{"n_ubatch", 8, func(r *Result) string { return fmt.Sprint(r.Microbatch) }})
	}
	bubble := column{"bubble est.", 11, func(r *Result) string { return percent(r.BubbleEstimate) }}
	if o.Bubble {
		bubble = column{"bubble", 8, func(r *Result) string { return share100(r.Bubble) }}
	}
	out = append(out, bubble)
	if o.Peaks.Int8 > 0 {
		out = append(out, column{"int8 peak", 9, func(r *Result) string { return share100(r.Int8Share) }})
	}
	return append(out, column{"tokens/J", 10, func(r *Result) string {
		if r.TokensPerJ == nil {
			return energy.Unmeasured
		}
		return fmt.Sprintf("%.2f", *r.TokensPerJ)
	}})
}

// size prints bytes as llama-bench does.
func size(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
}

func share100(x *float64) string {
	if x == nil {
		return "-"
	}
	return percent(*x)
}

func (p *markdown) Print(r *Result) error {
	var b strings.Builder
	if p.build == "" {
		p.build = r.BuildCommit
		var rule []string
		for i, c := range p.columns {
			dashes := strings.Repeat("-", c.width)
			if i > 0 {
				dashes += ":"
			} else {
				dashes += "-"
			}
			rule = append(rule, dashes)
		}
		p.row(&b, func(c column) string { return c.name })
		fmt.Fprintf(&b, "| %s |\n", strings.Join(rule, " | "))
	}
	p.row(&b, func(c column) string { return c.value(r) })
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p *markdown) row(b *strings.Builder, text func(column) string) {
	for i, c := range p.columns {
		s := text(c)
		pad := strings.Repeat(" ", max(0, c.width+1-utf8.RuneCountInString(s)))
		if i == 0 {
			s, pad = s+pad, ""
		}
		fmt.Fprintf(b, "| %s%s ", pad, s)
	}
	b.WriteString("|\n")
}

func (p *markdown) Close() error {
	if p.build == "" {
		return nil
	}
	hint := ""
	if p.build == unstamped {
		hint = " (go build -buildvcs=true in a checkout writes it into the program)"
	}
	_, err := fmt.Fprintf(p.w, "\nbuild: %s%s\n", p.build, hint)
	return err
}
