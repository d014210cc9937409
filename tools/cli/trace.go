package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"estream/runtime"
	"estream/tools/trace"
)

// traceFlags are the flags of trace, beside those of run.
type traceFlags struct {
	runFlags
	outputs []string
	layers  string
	waits   int
}

func (a *App) traceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace [flags] PACKAGE|TRACE.json [PROMPT]",
		Short: "Show a run's timeline, and why it waited",
		Long: `Trace runs a package on a prompt, or reads a trace that run or bench has written
with --trace, and says where the time went: reading, computing by kind of graph, and
waiting, with the longest waits, the records that were waited for, and what their
reads had come after.

With -o it writes the timeline, as a drawing (.svg) or for ui.perfetto.dev (.json).
The drawing has a row for each reader, cell of the arena, and kind of computation,
and a colour for each layer; --layers draws a part of the run.`,
		Example: `  estream trace olmoe.estream "The capital of France is"
  estream trace -o run.svg -o run.json --memory 900MiB olmoe.estream "The capital of France is"
  estream trace -o layers.svg --layers 3-5 timeline.json`,
		Args: args(cobra.RangeArgs(1, 2)),
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.outputs, "output", "o", nil, "write the timeline to this file, .svg or .json; may be repeated")
	fl.StringVar(&f.layers, "layers", "", "draw the time of these layers alone, such as 3-5")
	fl.IntVar(&f.waits, "waits", 8, "longest waits to show")
	fl.StringVar(&f.tokens, "tokens", "", "token ids instead of a prompt, separated by commas")
	f.shaping(fl, a)
	f.planning(fl)
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if st, err := os.Stat(args[0]); err == nil && st.Mode().IsRegular() {
			if len(args) > 1 {
				return usagef("%s is a trace: a prompt is for a package", args[0])
			}
			for _, name := range []string{"tokens", "memory", "schedule", "readers", "banks", "group", "chunk", "threads", "backend", "source", "read-limit", "checksum", "plan"} {
				if fl.Changed(name) {
					return usagef("%s is a trace: --%s is for a package", args[0], name)
				}
			}
			return a.traceFile(cmd.Context(), f, args[0])
		}
		if given := len(args) - 1 + count(f.tokens != ""); given != 1 {
			if _, err := os.Stat(args[0]); err != nil {
				return err
			}
			return usagef("give one of PROMPT and --tokens, got %d", given)
		}
		return a.traceRun(cmd.Context(), f, args)
	}
	return cmd
}

// traceFile shows a trace that was written before.
func (a *App) traceFile(ctx context.Context, f traceFlags, path string) error {
	outs, err := f.open(ctx, path)
	if err != nil {
		return err
	}
	defer outs.discard()
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	return a.showTrace(ctx, f, outs, in, path)
}

// traceRun runs a prompt; its trace is in a file, so that it takes no memory of the
// run's.
func (a *App) traceRun(ctx context.Context, f traceFlags, args []string) error {
	outs, err := f.open(ctx, args[0])
	if err != nil {
		return err
	}
	defer outs.discard()
	file, err := os.CreateTemp("", "estream-trace-")
	if err == nil {
		defer os.Remove(file.Name())
		defer file.Close()
		err = roomIn(file)
	}
	if err != nil {
		return fmt.Errorf("the trace waits in a temporary file: set TMPDIR to a folder that can be written to: %w", err)
	}
	f.tracer = trace.NewWriter(file)
	if err := a.traced(ctx, f.runFlags, args); err != nil {
		return err
	}
	if err := f.tracer.Close(); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return a.showTrace(ctx, f, outs, file, args[0])
}

// traced runs a prompt for what its hooks are told.
func (a *App) traced(ctx context.Context, f runFlags, args []string) error {
	f.routing, f.once = a.newRouting(), true
	m, err := a.open(ctx, args[0], f)
	if err != nil {
		return err
	}
	defer m.Close()
	_, prompts, err := a.prompts(ctx, m, f, args[1:])
	if err != nil {
		return err
	}
	b := runtime.Batch{Prompts: prompts, Logits: runtime.Last}
	plan, err := m.PlanContext(ctx, b)
	if err != nil {
		return err
	}
	a.note("plan: %s", plan)
	_, err = m.Run(ctx, b)
	return err
}

// showTrace writes what was asked for of a trace, and prints its summary.
func (a *App) showTrace(ctx context.Context, f traceFlags, outs traceOutputs, in io.ReadSeeker, what string) error {
	s, err := until(ctx, func() (trace.Summary, error) { return f.draw(outs, in, what) })
	if err != nil {
		return err
	}
	for _, o := range outs {
		if err := o.finish(); err != nil {
			return err
		}
	}
	if f.asJSON {
		return a.printJSON(summaryJSON(s, f.waits))
	}
	return a.printSummary(s, f.waits)
}

// draw writes the timeline of a trace into files, and sums it up.
func (f traceFlags) draw(outs traceOutputs, in io.ReadSeeker, what string) (s trace.Summary, err error) {
	t, err := trace.Read(bufio.NewReaderSize(in, 1<<16))
	if err != nil {
		return s, fmt.Errorf("%s: %w", what, err)
	}
	from, to := t.Span()
	if f.layers != "" {
		if from, to, err = f.window(t); err != nil {
			return s, err
		}
	}
	s = t.Summarize()
	title := fmt.Sprintf("%s, %s: %.3f s; reading %s, computing %s, waiting %s", filepath.Base(what), s.Tokens, s.Total.Seconds(), percent(s.Reading, s.Total), percent(s.Compute, s.Total), percent(s.Waiting, s.Total))
	for _, o := range outs {
		if err := o.write(t, in, title, from, to); err != nil {
			return s, err
		}
	}
	return s, nil
}

// window is the time of the layers asked for.
func (f traceFlags) window(t *trace.Timeline) (from, to time.Duration, err error) {
	ns, err := numbers("layers", []string{f.layers}, 0, 1<<16)
	if err != nil {
		return 0, 0, err
	}
	from, to, ok := t.During(ns[0], ns[len(ns)-1])
	if !ok {
		return 0, 0, fmt.Errorf("--layers %s: the trace has no program of such a layer", f.layers)
	}
	return from, to, nil
}

// A traceOutput is a file that a timeline is written to.
type traceOutput struct {
	*output
	svg bool
}

type traceOutputs []traceOutput

// open begins the files that are asked for.
func (f traceFlags) open(ctx context.Context, read string) (outs traceOutputs, err error) {
	if f.waits < 0 {
		return nil, usagef("--waits=%d: want 0 or more", f.waits)
	}
	for _, path := range f.outputs {
		ext := strings.ToLower(filepath.Ext(path))
		if ext != ".svg" && ext != ".json" {
			outs.discard()
			return nil, usagef("--output %s: name a file that ends in .svg or .json", path)
		}
		out, err := newOutput(ctx, "output", path, read)
		if err != nil {
			outs.discard()
			return nil, err
		}
		for _, other := range outs {
			if other.same(out) {
				out.discard()
				outs.discard()
				return nil, usagef("--output %s is given twice", path)
			}
		}
		outs = append(outs, traceOutput{out, ext == ".svg"})
	}
	return outs, nil
}

func (outs traceOutputs) discard() {
	for _, o := range outs {
		o.output.discard()
	}
}

// write writes the timeline as the file's name says.
func (o traceOutput) write(t *trace.Timeline, in io.ReadSeeker, title string, from, to time.Duration) error {
	if o.svg {
		w := bufio.NewWriter(o)
		return errors.Join(t.SVG(w, title, from, to), w.Flush())
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(o, in)
	return err
}
