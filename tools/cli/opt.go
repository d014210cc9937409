package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/passes"
)

// optFlags are the flags of opt beside those of how passes are set.
type optFlags struct {
	passes, dump                    []string
	verify, time, why, list, asJSON bool
}

func (a *App) optCommand() *cobra.Command {
	var f optFlags
	var s optSettings
	cmd := &cobra.Command{
		Use:   "opt [flags] [MODULE]",
		Short: "Run passes on IR text and print what they leave",
		Long: `Opt runs passes of the compiler on a module and prints the module as IR text.
MODULE is a file of IR text, a package, or a config.json, the folder that it is in
or a GGUF file, of which the family builds the module; without it, or as -, IR text
is read from stdin.

The passes are those of --list unless --passes names others, in the order named;
"pack" stands for those from a family's module to a package's, "open" for those
from there to what a backend compiles. A module whose layers are split already,
such as a package's, has only "open" ahead of it. What the passes decide is told
by --why: the type of each weight, classes of experts, and graphs that stay on the
host, with the operators that keep them there.`,
		Example: `  estream opt --list
  estream opt --passes pack --encoding w8 OLMoE-1B-7B-0924/config.json
  estream opt --dump split,layout --time olmoe.ir
  estream opt --backend host --why olmoe.estream`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.passes, "passes", nil, "passes to run, in this order (default: those of --list that lie ahead)")
	fl.StringSliceVar(&f.dump, "dump", nil, "print the module after these passes instead: all, input, or names of passes")
	fl.BoolVar(&f.verify, "verify", true, "verify the module after each pass, and name the pass that broke it")
	fl.BoolVar(&f.time, "time", false, "print on stderr what each pass took and left")
	fl.BoolVar(&f.why, "why", false, "print on stderr what the passes decided, with reasons")
	fl.BoolVar(&f.list, "list", false, "list the passes, what they establish and why they stand in this order")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	s.flags(fl, a.backendNames())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := a.newOptimizer(s)
		switch {
		case err != nil:
			return err
		case f.list:
			return a.listPasses(o, f.asJSON)
		}
		m, err := a.module(cmd.Context(), cmd.InOrStdin(), append(args, "-")[0])
		if err != nil {
			return err
		}
		return a.opt(cmd.Context(), o, f, m)
	}
	return cmd
}

// opt runs the passes that f names on m and prints.
func (a *App) opt(ctx context.Context, o *optimizer, f optFlags, m *ir.Module) error {
	ps, err := o.choose(f.passes, m)
	if err != nil {
		return err
	}
	if err := checkDump(f.dump, ps); err != nil {
		return err
	}
	for _, c := range outOfOrder(ps) {
		a.note("note: %s runs before %s, and should not: %s", c.After, c.Before, c.Why)
	}
	var shown []dump
	show := func(after string) {
		if slices.Contains(f.dump, "all") || slices.Contains(f.dump, after) {
			shown = append(shown, dump{after, m.String()})
		}
	}
	show("input")
	took, err := run(ctx, m, ps, f.verify, show)
	if f.time {
		a.printTook(took)
	}
	if f.why {
		a.printWhy(o.report)
	}
	switch {
	case f.asJSON && err == nil:
		return a.printJSON(map[string]any{"module": m.String(), "passes": took, "dumps": dumpsJSON(shown)})
	case !f.asJSON && len(f.dump) > 0:
		for _, d := range shown {
			d.print(a.Stdout)
		}
	case err == nil:
		_, err = fmt.Fprint(a.Stdout, m)
	}
	return err
}

// A passTime is what a pass took and left.
type passTime struct {
	Pass    string  `json:"pass"`
	Seconds float64 `json:"elapsed_s"`
	Graphs  int     `json:"graphs"`
	Values  int     `json:"values"` // bodies included
}

// run applies ps to m until ctx is done, and returns how long those took that succeeded.
func run(ctx context.Context, m *ir.Module, ps []passes.Pass, verify bool, observe func(after string)) ([]passTime, error) {
	took := []passTime{}
	timed := slices.Clone(ps)
	for i, p := range ps {
		timed[i].Run = func(m *ir.Module) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			start := time.Now()
			if err := p.Run(m); err != nil {
				return err
			}
			graphs, values := extent(m)
			took = append(took, passTime{p.Name, time.Since(start).Seconds(), graphs, values})
			return nil
		}
	}
	if verify {
		return took, passes.Run(m, timed, func(after string, _ *ir.Module) { observe(after) })
	}
	if err := passes.Run(m, nil, nil); err != nil {
		return took, err
	}
	for _, p := range timed {
		if err := p.Run(m); err != nil {
			return took, fmt.Errorf("pass %s: %w", p.Name, err)
		}
		observe(p.Name)
	}
	return took, nil
}

// extent is how many graphs m has, bodies apart, and values in all of them.
func extent(m *ir.Module) (graphs, values int) {
	for _, g := range m.Graphs {
		values += len(g.Values)
		for _, v := range g.Values {
			if v.Body != nil {
				values += len(v.Body.Values)
			}
		}
	}
	return len(m.Graphs), values
}

func (a *App) printTook(took []passTime) {
	a.note("%-16s %10s %8s %8s", "pass", "ms", "graphs", "values")
	total := 0.0
	for _, t := range took {
		a.note("%-16s %10.3f %8d %8d", t.Pass, 1e3*t.Seconds, t.Graphs, t.Values)
		total += t.Seconds
	}
	a.note("%-16s %10.3f", "all", 1e3*total)
}

func (a *App) printWhy(r *passes.Report) {
	if len(r.Decisions)+len(r.Classes)+len(r.Hosted) == 0 {
		a.note("nothing was decided: no weight became another type, and no graph was kept off its backend")
	}
	for _, d := range r.Decisions {
		a.note("%s %s: %s becomes %s: %s", d.Graph, d.Weight, d.From, d.To, d.Reason)
	}
	for _, c := range r.Classes {
		if c.Differs == "" {
			a.note("%s: the experts of %s", c.Callee, c.Graph)
		} else {
			a.note("%s: the experts of %s, a class of their own: %s", c.Callee, c.Graph, c.Differs)
		}
	}
	for _, h := range r.Hosted {
		a.note("%s stays on the host: %s", h.Graph, strings.ReplaceAll(h.Why.Error(), "\n", "; "))
	}
}
