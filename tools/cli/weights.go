package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/tools/calibrate"
	"estream/tools/diff"
	"estream/tools/pack"
	"estream/tools/weights"
)

// weightsFlags are the flags of inspect --weights.
type weightsFlags struct {
	on     bool
	layers []string
	sample int
	each   bool
}

// add adds what inspect needs to show weights.
func (f *weightsFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "weights", false, "show the range of weights, what encodings would cost them, and how alike and (once calibrated) how popular experts are; of a checkpoint, too")
	fl.StringSliceVar(&f.layers, "layer", nil, "with --weights, of these layers alone, such as 0,12-15")
	fl.IntVar(&f.sample, "sample", 0, "with --weights, values of each tensor that encodings are tried on, -1 for all (default 32768)")
	fl.BoolVar(&f.each, "each", false, "with --weights, a line for each tensor, not for each name")
}

// check refuses flags that mean nothing without --weights.
func (f *weightsFlags) check() error {
	if !f.on && (len(f.layers) > 0 || f.sample != 0 || f.each) {
		return usagef("--layer, --sample and --each are for --weights")
	}
	return nil
}

// inspectWeights measures the weights of a package or a checkpoint.
func (a *App) inspectWeights(ctx context.Context, path string, f weightsFlags, asJSON bool) error {
	var layers []int
	if len(f.layers) > 0 {
		var err error
		if layers, err = numbers("layer", f.layers, 0, 1<<16); err != nil {
			return err
		}
	}
	s, err := until(ctx, func() (diff.Side, error) { return a.side(ctx, path) })
	if err != nil {
		return err
	}
	defer closeSide(s)
	if s.Weights == nil {
		return fmt.Errorf("%s has no weights: it is IR text", path)
	}
	bar := a.progress("measuring")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(pack.Memory)) // blocks of weights become garbage fast
	o := weights.Options{Layers: layers, Sample: f.sample, Progress: func(done, total int64) { bar.update(4*done, 4*total) }}
	r, err := until(ctx, func() (*weights.Report, error) { return weights.Measure(ctx, s.Weights, o) })
	bar.end()
	if err != nil {
		return err
	}
	var routes *calibrate.Calibration
	if s.Kind == "package" {
		if routes, err = a.usable(path); err != nil {
			return err
		}
	}
	if asJSON {
		v := weightsJSON(path, s.Kind, r)
		v["expert_popularity"] = popularJSON(routes)
		return a.printJSON(v)
	}
	return a.printWeights(r, routes, f.each, layers != nil)
}

// printWeights prints a report; heat maps of layers that were asked for, or of the one
// whose experts are most alike.
func (a *App) printWeights(r *weights.Report, routes *calibrate.Calibration, each, asked bool) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rows := r.Tensors
	if !each {
		rows = byName(r.Tensors)
	}
	var heads []string
	for _, d := range weights.Encodings() {
		heads = append(heads, fmt.Sprintf("%9s", d))
	}
	p("%-32s %-7s %11s %10s %10s %9s %7s %9s %9s  SNR dB:%s", "weight", "type", "values", "min", "max", "rms", "peak", "outliers", "kurtosis", strings.Join(heads, ""))
	for _, t := range rows {
		p("%-32s %-7s %11d %10.4g %10.4g %9.3g %7.1f %9s %9.2f         %s", label(t, each), t.Type, t.Values, t.Min, t.Max, t.RMS,
			max(-t.Min, t.Max)/max(t.RMS, math.SmallestNonzeroFloat64), share(t.Outliers, t.Values), t.Kurtosis, snrs(t))
		if t.Odd > 0 {
			p("          %d of these are NaN or infinite", t.Odd)
		}
	}
	printWeightsLegend(p, r.Tensors)
	printHardest(p, r.Tensors)
	printAlike(p, r.Alike, asked)
	printPopular(p, routes)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

func label(t weights.Stats, each bool) string {
	if each {
		return t.ID.String()
	}
	return fmt.Sprintf("%s (%d)", t.Name, t.Expert) // byName has counted there
}

func share(n, of int64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3g ppm", 1e6*float64(n)/float64(of))
}

func snrs(t weights.Stats) string {
	var b strings.Builder
	for _, d := range weights.Encodings() {
		i := slices.IndexFunc(t.Errors, func(l weights.Loss) bool { return l.Encoding == d.String() })
		text := "-"
		if i >= 0 {
			text = strings.TrimSuffix(decibels(t.Errors[i].Signal, t.Errors[i].Noise), " dB")
		}
		fmt.Fprintf(&b, "%9s", text)
	}
	return b.String()
}

// byName adds up the tensors of a name, and counts them in Expert.
func byName(ts []weights.Stats) []weights.Stats {
	at := map[string]int{}
	var out []weights.Stats
	for _, t := range ts {
		i, ok := at[t.Name]
		if !ok {
			at[t.Name] = len(out)
			t.Errors = slices.Clone(t.Errors)
			t.Expert = 1
			out = append(out, t)
			continue
		}
		out[i] = addStats(out[i], t)
	}
	slices.SortStableFunc(out, func(a, b weights.Stats) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func addStats(sum, t weights.Stats) weights.Stats {
	n, m := float64(sum.Values-sum.Odd), float64(t.Values-t.Odd)
	share := m / max(1, n+m)
	sum.Min, sum.Max = min(sum.Min, t.Min), max(sum.Max, t.Max)
	sum.RMS = math.Sqrt((1-share)*sum.RMS*sum.RMS + share*t.RMS*t.RMS)
	sum.Mean += share * (t.Mean - sum.Mean)
	sum.Kurtosis += share * (t.Kurtosis - sum.Kurtosis)
	sum.Expert++
	sum.Type = merged(sum.Type, t.Type)
	sum.Values, sum.Odd, sum.Zeros, sum.Outliers, sum.Sampled = sum.Values+t.Values, sum.Odd+t.Odd, sum.Zeros+t.Zeros, sum.Outliers+t.Outliers, sum.Sampled+t.Sampled
	for _, l := range t.Errors {
		i := slices.IndexFunc(sum.Errors, func(x weights.Loss) bool { return x.Encoding == l.Encoding })
		if i < 0 {
			sum.Errors = append(sum.Errors, l)
			continue
		}
		e := &sum.Errors[i]
		e.Signal, e.Noise, e.Max = e.Signal+l.Signal, e.Noise+l.Noise, max(e.Max, l.Max)
	}
	return sum
}

func printWeightsLegend(p func(string, ...any), ts []weights.Stats) {
	p("peak: the largest magnitude in rms; outliers: farther than 6 rms from zero; kurtosis: 0 of a normal distribution; of several tensors its mean")
	var sampled, values int64
	encoded := false
	for _, t := range ts {
		sampled, values = sampled+t.Sampled, values+t.Values
		d, err := ir.ParseDType(t.Type)
		encoded = encoded || err == nil && d.Encoded()
	}
	if sampled < values {
		p("SNR: of rows that have %.3g %% of the values; --sample -1 takes all", 100*float64(sampled)/float64(values))
	}
	if encoded {
		p("SNR: some of these weights have been rounded before: what that cost, estream diff CHECKPOINT PACKAGE tells")
	}
}

// printHardest prints the experts' tensors that lose most at their default encoding.
// Others are packed as something else by default, and routers never.
func printHardest(p func(string, ...any), ts []weights.Stats) {
	type hard struct {
		t   weights.Stats
		snr float64
	}
	var all []hard
	for _, t := range ts {
		for _, l := range t.Errors {
			if x := l.SNR(); t.ID.Expert >= 0 && l.Encoding == ir.W4G64.String() && !math.IsNaN(x) && !math.IsInf(x, 0) {
				all = append(all, hard{t, x})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b hard) int { return cmp.Compare(a.snr, b.snr) })
	for _, h := range all[:min(3, len(all))] {
		p("hardest   as w4g64: %s, %.1f dB, peak %.1f", h.t.ID, h.snr, max(-h.t.Min, h.t.Max)/h.t.RMS)
	}
}
