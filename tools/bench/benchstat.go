package bench

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"strings"
)

// benchstat prints a line of Go's benchmark format for each repetition.
type benchstat struct {
	w      io.Writer
	begun  bool
	source string // of energy, by the lines so far
}

func (p *benchstat) Print(r *Result) error {
	var b strings.Builder
	if !p.begun {
		p.begun = true
		fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: estream\ncpu: %s\nkernels: %s\n", goruntime.GOOS, goruntime.GOARCH, r.CPUInfo, r.Kernels)
	}
	if p.source != r.EnergySource {
		p.source = r.EnergySource
		fmt.Fprintf(&b, "energy: %s\n", r.EnergySource)
	}
	for i := range r.SamplesNS {
		fmt.Fprintf(&b, "BenchmarkPrefill/%s/p%d-%d\t1", modelName(r.ModelFilename), r.Prompt, r.Threads)
		for _, m := range metrics(r, i) {
			if text, _ := cell(reflect.ValueOf(m.value)); text != "" {
				fmt.Fprintf(&b, "\t%s %s", text, m.unit)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

// A metric is a number of a line; a pointer that is nil was not measured.
type metric struct {
	value any
	unit  string
}

// metrics are those of repetition i. What only the average of the repetitions is
// known of is the same in each.
func metrics(r *Result, i int) []metric {
	out := []metric{{r.SamplesNS[i], "ns/op"}, {r.SamplesTS[i], "tokens/s"}}
	if r.Bubble != nil {
		out = append(out, metric{r.SamplesTioNS[i], "tio-ns/op"}, metric{r.SamplesExecNS[i], "texec-ns/op"}, metric{r.SamplesBothNS[i], "tboth-ns/op"}, metric{r.Bubble, "bubble"})
	}
	return append(out,
		metric{r.Q, "q"}, metric{r.B, "b"}, metric{r.G, "g"}, metric{r.Microbatch, "ubatch"},
		metric{r.ArenaBytes, "arena-B"}, metric{r.ResidentBytes, "resident-B"}, metric{r.PlanBytes, "plan-B"}, metric{r.PeakBytes, "peak-B"},
		metric{r.BytesRead, "read-B/op"}, metric{r.BytesWasted, "wasted-B/op"},
		metric{r.Guessed, "guessed/op"}, metric{r.GuessHits, "guess-hits/op"}, metric{r.GuessMisses, "guess-misses/op"},
		metric{r.ReadNS, "read-ns/op"}, metric{r.ComputeNS, "compute-ns/op"}, metric{r.WaitNS, "wait-ns/op"}, metric{r.BubbleEstimate, "bubble-estimate"},
		metric{r.Int8Share, "int8-share"}, metric{r.BF16Share, "bf16-share"}, metric{r.EnergyJ, "J/op"}, metric{r.TokensPerJ, "tokens/J"})
}

func (p *benchstat) Close() error { return nil }

// modelName is a package's folder without its extension, as a word.
func modelName(dir string) string {
	name := strings.TrimSuffix(filepath.Base(dir), ".estream")
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r <= ' ' || r == '/' }), "_")
}
