package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"estream/runtime/tokenizer"
	"estream/tools/diff"
	"estream/tools/weights"
)

// printDiff prints a report; each tensor, or each name, has a line.
func (a *App) printDiff(r *diff.Report, each bool) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("a         %s", r.A)
	p("b         %s", r.B)
	for _, x := range r.Skipped {
		p("%-9s not compared: %s", x.What, x.Why)
	}
	for _, part := range []struct {
		name   string
		fields []diff.Field
	}{{"package", r.Package}, {"config", r.Config}} {
		for _, f := range part.fields {
			p("%-9s %s: %s -> %s", part.name, f.Key, cmp.Or(f.A, "(none)"), cmp.Or(f.B, "(none)"))
		}
	}
	printGraphDiffs(p, r.Graphs)
	if r.Weights != nil {
		printTally(p, r.Weights, each)
	}
	if r.Logits != nil {
		printLogits(p, r.Logits)
	}
	if r.Same {
		p("the same")
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

// printGraphDiffs prints graphs of the same differences, such as those of like
// layers, as one.
func printGraphDiffs(p func(string, ...any), graphs []diff.Graph) {
	var names [][]string
	var found []diff.Graph
	for _, g := range graphs {
		i := slices.IndexFunc(found, func(f diff.Graph) bool { return f.Only == g.Only && slices.Equal(f.Values, g.Values) })
		if i < 0 {
			i = len(found)
			found, names = append(found, g), append(names, nil)
		}
		names[i] = append(names[i], g.Name)
	}
	for i, g := range found {
		only := ""
		if g.Only != "" {
			only = ": only in " + g.Only
		}
		p("graph     %s%s", strings.Join(names[i], " "), only)
		for _, v := range g.Values {
			printSide(p, "-", v.A)
			printSide(p, "+", v.B)
		}
	}
}

func printSide(p func(string, ...any), sign, text string) {
	if text != "" {
		p("  %s %s", sign, text)
	}
}

func printTally(p func(string, ...any), t *diff.Tally, each bool) {
	p("weights   %d tensors compared, %d differ%s", t.Compared, len(t.Differ), passedNote(t))
	for i, only := range [][]weights.ID{t.OnlyA, t.OnlyB} {
		for _, line := range grouped(only) {
			p("          only in %s: %s", string("ab"[i]), line)
		}
	}
	if len(t.Differ) == 0 {
		return
	}
	p("%-28s %-9s %-9s %13s %10s %10s %8s  %s", "weight", "a", "b", "differ", "max", "relative", "SNR", "where the largest is")
	if each {
		for _, d := range t.Differ {
			printDelta(p, d.ID.String(), d)
		}
		return
	}
	for _, name := range deltaNames(t.Differ) {
		d, n := summed(t.Differ, name)
		printDelta(p, fmt.Sprintf("%s (%d)", name, n), d)
	}
}

// passedNote tells of what the tolerance let pass.
func passedNote(t *diff.Tally) string {
	if t.Tolerance == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more are within %v", t.Within, t.Tolerance)
}

func printDelta(p func(string, ...any), label string, d diff.TensorDelta) {
	if d.Reshaped {
		p("%-28s %-9s %-9s shapes %v and %v", label, d.TypeA, d.TypeB, d.ShapeA, d.ShapeB)
		return
	}
	odd := ""
	if d.Odd > 0 {
		odd = fmt.Sprintf("; %d are NaN or infinite on one side", d.Odd)
	}
	snr, where := decibels(d.Signal, d.Noise), "-"
	if d.Noise == 0 && d.Odd > 0 { // there is no difference to put into a number
		snr = "-"
	}
	if d.At != nil {
		where = fmt.Sprintf("%s%v: %.6g, %.6g", placed(d.ID), d.At, d.A, d.B)
	}
	p("%-28s %-9s %-9s %13s %10.3g %10.3g %8s  %s%s", label, d.TypeA, d.TypeB, fmt.Sprintf("%.2f %%", 100*float64(d.Apart)/float64(max(1, d.Values))), d.Max, d.Relative(), snr, where, odd)
}

// placed is where in the model a weight is.
func placed(id weights.ID) string {
	switch {
	case id.Layer < 0:
		return ""
	case id.Expert < 0:
		return fmt.Sprintf("layer %d ", id.Layer)
	}
	return fmt.Sprintf("layer %d expert %d ", id.Layer, id.Expert)
}

func decibels(signal, noise float64) string {
	x := weights.SNR(signal, noise)
	switch {
	case math.IsNaN(x):
		return "-"
	case math.IsInf(x, 1):
		return "exact"
	}
	return fmt.Sprintf("%.1f dB", x)
}

func deltaNames(ds []diff.TensorDelta) []string {
	var names []string
	for _, d := range ds {
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// summed adds up the tensors of a name; the place is that of the largest difference.
func summed(ds []diff.TensorDelta, name string) (sum diff.TensorDelta, n int) {
	for _, d := range ds {
		if d.Name != name {
			continue
		}
		n++
		if n == 1 {
			sum = d
			continue
		}
		if d.Max > sum.Max {
			sum.ID, sum.Max, sum.At, sum.A, sum.B = d.ID, d.Max, d.At, d.A, d.B
		}
		sum.TypeA, sum.TypeB = merged(sum.TypeA, d.TypeA), merged(sum.TypeB, d.TypeB)
		sum.Values, sum.Apart, sum.Odd = sum.Values+d.Values, sum.Apart+d.Apart, sum.Odd+d.Odd
		sum.Signal, sum.Noise, sum.Reshaped = sum.Signal+d.Signal, sum.Noise+d.Noise, sum.Reshaped || d.Reshaped
	}
	return sum, n
}

// merged is the type of tensors of several.
func merged(a, b string) string {
	if a == b {
		return a
	}
	return "mixed"
}

// grouped counts ids by name.
func grouped(ids []weights.ID) []string {
	var names []string
	count := map[string]int{}
	for _, id := range ids {
		if count[id.Name]++; count[id.Name] == 1 {
			names = append(names, id.Name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, count[name])
	}
	return names
}

func printLogits(p func(string, ...any), l *diff.Logits) {
	if l.Why != "" {
		p("logits    not compared: %s", l.Why)
		p("          a: %d tokens %v", len(l.TokensA), l.TokensA)
		p("          b: %d tokens %v", len(l.TokensB), l.TokensB)
		return
	}
	if l.Same {
		p("logits    the same at all %d positions", l.Positions)
		return
	}
	p("logits    %d positions: the likeliest token is the same at %d; largest difference %.4g, at position %d", l.Positions, l.Agree, l.Max, l.MaxAt)
	p("          divergence of b from a %.3g nats a position, %.3g at most, at position %d", l.MeanKL, l.MostKL, l.MostKLAt)
	if l.Odd > 0 {
		p("          %d positions have logits that are NaN or infinite", l.Odd)
	}
	for i, row := range [][]float32{l.LastA, l.LastB} {
		var words []string
		for _, c := range likeliest(row, 5, (*tokenizer.Tokenizer)(nil)) {
			words = append(words, fmt.Sprintf("%d %.1f %%", c.ID, 100*c.Prob))
		}
		p("          %s: next token %s", string("ab"[i]), strings.Join(words, ", "))
	}
}
