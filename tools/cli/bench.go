package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"estream/lower/host/kernel"
	"estream/tools/bench"
	"estream/tools/energy"
)

func (a *App) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [flags] PACKAGE...",
		Short: "Measure how fast packages prefill",
		Long: `Bench runs prompts of random tokens and prints the tokens a second, in the fields
of llama.cpp's llama-bench and under its flags as far as they mean something here:
estream does prefill only. A test is a length of prompt on a number of threads: a
run that is thrown away, then the repetitions. Lists are separated by commas, and
may have ranges: first-last, first-last+step or first-last*factor. Flags of
llama-bench that are not listed below are taken with values that hold here anyway,
such as -ngl 0, -fa 1, -mmp 0 or --poll 50, and refused with others.

What is printed beyond llama-bench's: readers, banks and group (q, b, g), bytes of
the arena, of weights that stay in memory, and read; the times with a read in
flight, in programs, and waited for reads; the peak memory of the process so far;
energy by the processor's counters or a battery that is being discharged; and what
share of the machine's measured int8 peak the runs reached.

With --bubble each repetition is four: the run, its reads again with nothing
computed (tio), its computation with all weights in memory (texec), and these two
at once (tboth). The bubble is 1 - max(tio, texec)/time, the share of the time in
which neither limits.

Ctrl-C ends it, and what was measured until then is printed.`,
		Example: `  estream bench olmoe.estream
  estream bench -p 128,512,2048 -t 1,2 -r 3 --memory 900MiB olmoe.estream
  estream bench --bubble --profile -o json olmoe.estream
  estream bench -p 128-2048*2 -q 4 -B 3 -G 1 --trace timeline.json olmoe.estream`,
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.refuseLlama(); err != nil {
				return err
			}
			f.models = append(f.models, args...)
			if len(f.models) == 0 {
				return usagef("no package: usage: %s", cmd.UseLine())
			}
			return a.bench(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.SetNormalizeFunc(llamaName)
	fl.StringSliceVarP(&f.models, "model", "m", nil, "packages, beside those given as arguments")
	fl.StringSliceVarP(&f.prompts, "n-prompt", "p", []string{"512"}, "tokens of the prompt")
	fl.StringSliceVarP(&f.gens, "n-gen", "n", []string{"0"}, "tokens to generate: 0 alone, estream does prefill only")
	fl.StringSliceVar(&f.pairs, "pg", nil, "refused: estream does prefill only")
	fl.StringSliceVarP(&f.depths, "n-depth", "d", []string{"0"}, "tokens before the prompt: 0 alone")
	fl.StringSliceVarP(&f.batches, "batch-size", "b", nil, "the longest prompt or more: a prompt runs as one batch")
	fl.StringSliceVar(&f.chunks, "ubatch-size", nil, "rows of a layer's body at a time, -ub or --chunk for short (default 512)")
	fl.StringSliceVarP(&f.threadCounts, "threads", "t", nil, "threads that compute (default: one a processor)")
	fl.IntVarP(&f.repetitions, "repetitions", "r", 5, "runs of each test")
	fl.IntVar(&f.delay, "delay", 0, "seconds between tests")
	fl.BoolVar(&f.noWarmup, "no-warmup", false, "leave out the run before the repetitions")
	fl.Uint64Var(&f.seed, "seed", 1, "what the random tokens follow from")
	fl.StringVarP(&f.format, "output", "o", "md", "what to print: "+strings.Join(bench.Formats(), ", "))
	fl.StringVar(&f.errFormat, "output-err", "", "what to print on stderr as well, -oe for short (default nothing)")
	fl.BoolVar(&f.asJSON, "json", false, "the same as --output json")
	fl.BoolVar(&f.progress, "progress", false, "tell on stderr how far it is")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "tell of plans, the machine's peaks and energy, too")
	fl.StringVar(&f.memory, "memory", "", "most resident memory of the process, such as 900MiB (default: a small arena)")
	fl.BoolVar(&f.resident, "resident", false, "keep all weights in memory")
	f.scheduling(fl)
	fl.IntVarP(&f.readers, "readers", "q", 0, "reads in flight (default 2)")
	fl.IntVarP(&f.banks, "banks", "B", 0, "groups of experts in memory (default 4, or 3 of experts above 32 MiB)")
	fl.IntVarP(&f.group, "group", "G", 0, "experts a read (default: about 32 MiB)")
	fl.StringVar(&f.backend, "backend", "host", "what the graphs run on: "+strings.Join(a.backendNames(), ", "))
	f.reading(fl, a)
	f.planning(fl)
	f.llamaFlags(fl)
	fl.BoolVar(&f.bubble, "bubble", false, "measure reads and computation apart, too")
	fl.BoolVar(&f.profile, "profile", false, "tell where the time went, by instruction")
	fl.StringVar(&f.trace, "trace", "", "write a timeline of reads, programs and waits to this JSON file, for ui.perfetto.dev")
	return cmd
}

func (a *App) bench(ctx context.Context, f benchFlags) (err error) {
	o, err := f.options(a)
	if err != nil {
		return err
	}
	if f.asJSON {
		f.format = "json"
	}
	o.Energy, o.Peaks = energy.Open(os.DirFS("/sys")), peaks()
	out, err := a.printers(f, o)
	if err != nil {
		return err
	}
	timeline, err := newTimeline(ctx, f.trace, f.models...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, timeline.close()) }()
	o.Trace = timeline.writer()
	o.Note = func(text string) { a.note("note: %s", text) }
	if f.progress || f.verbose {
		o.Progress = func(text string) { a.note("%s", text) }
	}
	if f.verbose {
		a.note("peaks of a thread: int8 %.0f, bf16 %.0f, f32 %.0f GOPS; 0 is not known", o.Peaks.Int8, o.Peaks.BF16, o.Peaks.F32)
	}
	debug.SetGCPercent(25) // garbage is no part of a memory plan
	var results []*bench.Result
	err = bench.Run(ctx, o, func(r *bench.Result) error {
		results = append(results, r)
		if f.verbose {
			a.note("energy: %s", strings.TrimSuffix(r.EnergySource+", "+r.EnergyNote, ", "))
		}
		return each(out, func(p bench.Printer) error { return p.Print(r) })
	})
	if len(o.Packages) == 1 {
		err = withFolder(err, o.Packages[0])
	}
	if err == nil || len(results) > 0 {
		err = errors.Join(err, each(out, bench.Printer.Close))
	}
	return errors.Join(err, a.printProfiles(f.format, results))
}

// printers are those of stdout, and of stderr where that is asked for.
func (a *App) printers(f benchFlags, o bench.Options) ([]bench.Printer, error) {
	out := []bench.Printer{bench.NewPrinter(f.format, a.Stdout, o)}
	if f.errFormat != "" && f.errFormat != "none" {
		out = append(out, bench.NewPrinter(f.errFormat, &printer{Writer: a.Stderr}, o))
	}
	for i, p := range out {
		if p == nil {
			return nil, usagef("unknown --%s %q: use one of %s", []string{"output", "output-err"}[i], []string{f.format, f.errFormat}[i], strings.Join(bench.Formats(), ", "))
		}
	}
	return out, nil
}

func each(ps []bench.Printer, do func(bench.Printer) error) error {
	var errs []error
	for _, p := range ps {
		errs = append(errs, do(p))
	}
	return errors.Join(errs...)
}

// printProfiles prints profiles as tables: behind a table of results, else on
// stderr. JSON has them in it.
func (a *App) printProfiles(format string, results []*bench.Result) error {
	w := io.Writer(&printer{Writer: a.Stderr})
	if format == "md" {
		w = a.Stdout
	}
	for _, r := range results {
		if r.Profile == nil || strings.HasPrefix(format, "json") {
			continue
		}
		if err := r.Profile.Print(w, fmt.Sprintf("\n%s %s", r.ModelType, r.Name())); err != nil {
			return err
		}
	}
	return nil
}

// peaks measures what a thread of the machine does at most.
func peaks() bench.Peaks {
	set, err := kernel.Best()
	if err != nil {
		return bench.Peaks{}
	}
	int8, bf16, f32 := set.Peaks()
	return bench.Peaks{Int8: int8, BF16: bf16, F32: f32}
}
