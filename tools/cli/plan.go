package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"estream/runtime"
	"estream/runtime/planner"
	"estream/tools/calibrate"
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
	profile, kept, err := a.profile(ctx, dir, f, o)
	if err != nil {
		return err
	}
	bar := a.ongoing(ctx)
	told := bar.tells(ctx, "planning on "+f.backend)
	all, err := until(ctx, func() (*plans, error) { return predict(told, dir, f, o, profile) })
	bar.end()
	if all != nil {
		a.noteUnused(dir, all.unused, all.artifacts, f.routing)
	}
	if err != nil {
		return err
	}
	all.kept = kept
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
	}
	if f.asJSON {
		return a.printJSON(all.json())
	}
	_, err = io.WriteString(a.Stdout, text.String())
	return err
}

// predict opens the package and finds what is printed of it; with an error of its plans
// it returns what comes before.
func predict(ctx context.Context, dir string, f planFlags, o runtime.Options, profile *planner.Profile) (*plans, error) {
	m, err := runtime.Open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p := &planner.Planner{Profile: profile, Package: planner.Describe(m), Schedule: o.Schedule, Limit: f.limitBytes}
	all := &plans{Planner: p, dir: dir, unused: m.Unused(), artifacts: m.Manifest().Artifacts}
	at := func(tokens int) (planner.Choice, error) { return pick(ctx, m, p, o, tokens) }
	for _, n := range f.asked {
		x := planned{tokens: n}
		if x.Choice, err = at(n); err == nil {
			x.frontier, err = p.Frontier(shaped(ctx, m, o, n))
		}
		if err == nil {
			err = ctx.Err() // Frontier leaves out what cannot be planned
		}
		if err != nil {
			return all, fmt.Errorf("%d tokens: %w", n, err)
		}
		all.lengths = append(all.lengths, x)
	}
	return all, all.cross(at)
}

// shaped gives plans of a length in shapes and budgets, with what of a shape Options gives.
func shaped(ctx context.Context, m *runtime.Model, o runtime.Options, tokens int) func(runtime.Shape, int64) (runtime.Plan, error) {
	return func(s runtime.Shape, memory int64) (runtime.Plan, error) {
		return m.PlanAs(ctx, tokens, runtime.Shape{Readers: cmp.Or(o.Readers, s.Readers), Banks: cmp.Or(o.Banks, s.Banks), Group: cmp.Or(o.Group, s.Group)}, memory)
	}
}

// pick is the choice for a length within the budget of Options.
func pick(ctx context.Context, m *runtime.Model, p *planner.Planner, o runtime.Options, tokens int) (planner.Choice, error) {
	as := shaped(ctx, m, o, tokens)
	return p.Pick(func(s runtime.Shape) (runtime.Plan, error) { return as(s, o.Memory) })
}

// profile returns the profile that is kept, or measures one and keeps it if it can; kept says where it is from.
func (a *App) profile(ctx context.Context, dir string, f planFlags, o runtime.Options) (p *planner.Profile, kept string, err error) {
	key, err := f.profileKey(dir, o.Threads)
	if err != nil {
		return nil, "", err
	}
	if p = planner.Load(key); p != nil && !f.fresh {
		return p, "measured " + p.Taken.Format(time.DateTime) + " UTC; --fresh measures anew", nil
	}
	begun, bar := time.Now(), a.ongoing(ctx)
	told := bar.tells(ctx, "measuring on "+f.backend)
	p, err = until(ctx, func() (*planner.Profile, error) { return planner.Measure(told, dir, key, o) })
	bar.end()
	if err != nil {
		return nil, "", err
	}
	kept = fmt.Sprintf("measured in %.1f s", time.Since(begun).Seconds())
	if _, err := p.Save(); err != nil {
		a.note("note: the profile is not kept for the next time: %v", err)
	}
	return p, kept, nil
}

// profileKey names the profile of a package that runs as the flags say.
func (f runFlags) profileKey(dir string, threads int) (string, error) {
	how := []string{cmp.Or(f.backend, "host"), cmp.Or(f.source, "file"), f.readLimit, cmp.Or(f.checksum, "always")}
	if f.routing != nil && how[0] != "host" { // whose graphs a calibration sizes
		if text, err := os.ReadFile(filepath.Join(dir, calibrate.Name)); err == nil {
			how = append(how, fmt.Sprintf("calibration %x", sha256.Sum256(text)))
		}
	}
	return planner.Key(dir, threads, strings.Join(how, " "))
}
