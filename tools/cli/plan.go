package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"estream/runtime"
	"estream/runtime/planner"
)

// planFlags are the flags of plan beside those that say how a package runs.
type planFlags struct {
	runFlags
	lengths    []string
	limit      string
	plot       string
	fresh      bool
	asked      []int
	limitBytes int64
}

func (a *App) planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan [flags] PACKAGE",
		Short: "Predict how fast a package runs here, and in what memory",
		Long: `Plan measures for a few seconds how fast this machine reads and computes a
package, and predicts from that how long runs take: with Q reads in flight and an
arena of B groups of G experts, and with weights that stay in memory from run to
run. It prints the best choice for each length of prompt, within --memory if that
is given, and every choice that none is better than in memory, in the first run of
a process and in those after it; --once is for run and trace, which keep no weights.
What was measured is kept for the next time, and for run and bench, which take the
shape that it chooses where none is given.

Tio is the time of the reads with nothing computed, Texec that of the computation
with nothing read, the bubble the share of a run in which neither limits. n* is
the length from which Texec is at least Tio: with fewer tokens the disk limits, and
weights that are in memory already would be faster. With some of --readers, --banks and
--group given, the best of the others is taken.`,
		Example: `  estream plan olmoe.estream
  estream plan --tokens 512-4096*2 --plot plan.svg olmoe.estream
  estream plan --memory 900MiB --json olmoe.estream`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.plan(cmd.Context(), f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.lengths, "tokens", []string{"512"}, "lengths of prompts: numbers or ranges such as 128-2048*2")
	fl.StringVar(&f.memory, "memory", "", "most resident memory of the process, such as 900MiB (default: as little as is fast)")
	fl.StringVar(&f.limit, "session-limit", "", "most memory that a session of an accelerator can map, such as 3.5GB (default: no limit)")
	f.scheduling(fl)
	fl.IntVar(&f.readers, "readers", 0, "predict with so many reads in flight (default: the best of 1 to 4)")
	fl.IntVar(&f.banks, "banks", 0, "predict with so many groups of experts in memory (default: the best)")
	fl.IntVar(&f.group, "group", 0, "predict with so many experts a read (default: the best)")
	f.machine(fl, a)
	fl.BoolVar(&f.once, "once", false, "predict what run and trace do within --memory: no weights are kept for a later run")
	fl.BoolVar(&f.fresh, "fresh", false, "measure anew, though a profile is kept")
	fl.StringVar(&f.plot, "plot", "", "draw time against memory into this file: .svg, or .html with the table below")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) plan(ctx context.Context, f planFlags, dir string) (err error) {
	if f.asked, err = lengths("tokens", f.lengths); err != nil {
		return err
	}
	if f.limit != "" {
		if f.limitBytes, err = parseSize(f.limit); err != nil {
			return err
		}
	}
	o, err := a.prepare(f.runFlags)
	if err != nil {
		return err
	}
	if e := filepath.Ext(f.plot); f.plot != "" && e != ".svg" && e != ".html" {
		return usagef("--plot %s: name a file that ends in .svg or .html", f.plot)
	}
	out, err := newOutput(ctx, "plot", f.plot, dir)
	if err != nil {
		return err
	}
	defer out.discard()
	f.routing = a.newRouting()
	f.routing.use(dir, &o)
	x, err := a.subject(ctx, dir, f, o)
	if err != nil {
		return err
	}
	bar := a.ongoing(ctx)
	told := bar.tells(ctx, "planning on "+f.backend)
	all, err := until(ctx, func() (*plans, error) { return x.predict(told) })
	bar.end()
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := all.print(&text); err != nil {
		return err
	}
	if out != nil {
		if _, err := out.Write(all.plot(filepath.Ext(f.plot), text.String())); err != nil {
			return err
		}
		if err := out.finish(); err != nil {
			return err
		}
		a.note("plot written to %s", f.plot)
	}
	if f.asJSON {
		return a.printJSON(all.json())
	}
	_, err = io.WriteString(a.Stdout, text.String())
	return err
}

// predict finds what is printed of the package, and closes it.
func (x *subject) predict(ctx context.Context) (all *plans, err error) {
	defer func() { err = errors.Join(err, x.model.Close()) }()
	all = &plans{Planner: x.planner, dir: x.dir, kept: x.kept}
	at := func(tokens int) (planner.Choice, error) { return x.planner.Pick(x.within(ctx, tokens)) }
	for _, n := range x.asked {
		row := planned{tokens: n}
		if row.Choice, err = at(n); err == nil {
			row.frontier, err = x.planner.Frontier(x.as(ctx, n))
		}
		if err == nil {
			err = ctx.Err() // Frontier leaves out what cannot be planned
		}
		if err != nil {
			return nil, fmt.Errorf("%d tokens: %w", n, err)
		}
		all.lengths = append(all.lengths, row)
	}
	return all, all.cross(at)
}

// shaped is a shape with what of it is given instead.
func (x *subject) shaped(s runtime.Shape) runtime.Shape {
	o := x.options
	return runtime.Shape{Readers: cmp.Or(o.Readers, s.Readers), Banks: cmp.Or(o.Banks, s.Banks), Group: cmp.Or(o.Group, s.Group)}
}

// as gives plans of a length in shapes and budgets.
func (x *subject) as(ctx context.Context, tokens int) func(runtime.Shape, int64) (runtime.Plan, error) {
	return func(s runtime.Shape, memory int64) (runtime.Plan, error) {
		return x.model.PlanAs(ctx, tokens, x.shaped(s), memory)
	}
}

// within gives those within --memory.
func (x *subject) within(ctx context.Context, tokens int) func(runtime.Shape) (runtime.Plan, error) {
	as := x.as(ctx, tokens)
	return func(s runtime.Shape) (runtime.Plan, error) { return as(s, x.options.Memory) }
}

// fits returns an error where a length fits in no shape, or run and bench may find that it does not.
func (x *subject) fits(ctx context.Context, tokens int) error {
	return x.planner.Fits(func(s runtime.Shape) (runtime.Plan, error) {
		return x.model.PlanSure(ctx, tokens, x.shaped(s), x.options.Memory)
	})
}
