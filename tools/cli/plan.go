package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

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
a process and in those after it. What was measured is kept for the next time, and
for run and bench, which take the shape that it chooses where none is given.

Tio is the time of the reads with nothing computed, Texec that of the computation
with nothing read, the bubble the share of a run in which neither limits. n* is
how many tokens it takes for computation to hide reads: below it the disk limits.`,
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
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default: one a processor)")
	fl.StringVar(&f.backend, "backend", "host", "what the graphs run on: "+strings.Join(a.backendNames(), ", "))
	f.reading(fl, a)
	fl.BoolVar(&f.fresh, "fresh", false, "measure anew, though a profile is kept")
	fl.StringVar(&f.plot, "plot", "", "draw time against memory into this SVG file")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) plan(ctx context.Context, f planFlags, dir string) (err error) {
	if f.asked, err = numbers("tokens", f.lengths, 1, 1<<20); err != nil {
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
	out, err := newOutput("plot", f.plot, dir)
	if err != nil {
		return err
	}
	defer out.discard()
	profile, kept, err := a.profile(ctx, dir, f, o)
	if err != nil {
		return err
	}
	m, err := runtime.Open(ctx, dir, o)
	if err != nil {
		return err
	}
	defer m.Close()
	p := &planner.Planner{Profile: profile, Package: planner.Describe(m), Schedule: o.Schedule, Limit: f.limitBytes}
	var lengths []planned
	for _, n := range f.asked {
		x := planned{tokens: n}
		if err := x.plan(m, p, o); err != nil {
			return fmt.Errorf("%d tokens: %w", n, err)
		}
		lengths = append(lengths, x)
	}
	if out != nil {
		if _, err := out.f.Write(plot(filepath.Base(dir)+": predicted time to the first token", lengths)); err != nil {
			return err
		}
		if err := out.finish(); err != nil {
			return err
		}
	}
	if f.asJSON {
		return a.printJSON(planJSON(dir, p, lengths))
	}
	return a.printPlan(p, kept, lengths)
}

// planned is what is printed of a length of prompt.
type planned struct {
	tokens int
	planner.Choice
	frontier []planner.Choice
}

// plan fills in the choice for the length, in a shape that is given or picked, and what else there is.
func (x *planned) plan(m *runtime.Model, p *planner.Planner, o runtime.Options) error {
	as := func(s runtime.Shape, memory int64) (runtime.Plan, error) { return m.PlanAs(x.tokens, s, memory) }
	given := runtime.Shape{Readers: o.Readers, Banks: o.Banks, Group: o.Group}
	plan, err := as(given, o.Memory)
	switch {
	case given == (runtime.Shape{}):
		x.Choice, err = p.Pick(func(s runtime.Shape) (runtime.Plan, error) { return as(s, o.Memory) })
	case err == nil:
		x.Choice, err = p.Of(plan)
	}
	if err == nil {
		x.frontier, err = p.Frontier(as)
	}
	return err
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
	begun := time.Now()
	if p, err = planner.Measure(ctx, dir, key, o); err != nil {
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
	return planner.Key(dir, threads, strings.Join([]string{cmp.Or(f.backend, "host"), cmp.Or(f.source, "file"), f.readLimit, cmp.Or(f.checksum, "always")}, " "))
}

func (a *App) printPlan(p *planner.Planner, kept string, lengths []planned) error {
	d := p.Profile.Disk
	fmt.Fprintf(a.Stdout, "profile  %s\ndisk     %s/s, %.0f us a read, checksums %s/s\n", kept, formatSize(int64(d.Rate)), float64(d.Latency)/1e3, formatSize(int64(d.Check)))
	if d.Burst > 0 {
		fmt.Fprintf(a.Stdout, "limit    reads after a pause are faster: up to %.1f ms are saved up, and then %s/s\n", float64(d.Burst)/1e6, formatSize(int64(d.Peak)))
	}
	if n := p.Saturation(); n > 0 {
		fmt.Fprintf(a.Stdout, "n*       %.0f tokens: with fewer the disk limits\n", n)
	}
	for _, x := range lengths {
		g := x.Plan.Geometry
		fmt.Fprintf(a.Stdout, "\n%d tokens: Q=%d B=%d G=%d, in chunks of %d\n", x.tokens, x.Plan.Readers, g.Banks, g.Group, x.Plan.Chunk)
		fmt.Fprintf(a.Stdout, "time     %.3f s the first run, Tio %.3f s, Texec %.3f s, bubble %.1f %%; %.3f s each one after it\n",
			x.First.Time.Seconds(), x.First.Reads.Seconds(), x.First.Compute.Seconds(), 100*x.First.Bubble(), x.Next.Time.Seconds())
		fmt.Fprintf(a.Stdout, "memory   %s, of it arena %s; %s mapped a session\n", formatSize(x.Plan.Bytes()), formatSize(g.Bytes()), formatSize(p.Mapped(x.Plan)))
		w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "memory\tfirst run\tbubble\tafter it\tbubble\tQ\tB\tG\tchunk\tmapped\t")
		for _, c := range x.frontier {
			g := c.Plan.Geometry
			fmt.Fprintf(w, "%s\t%.3f s\t%.1f %%\t%.3f s\t%.1f %%\t%d\t%d\t%d\t%d\t%s\t\n", formatSize(c.Plan.Bytes()), c.First.Time.Seconds(), 100*c.First.Bubble(),
				c.Next.Time.Seconds(), 100*c.Next.Bubble(), c.Plan.Readers, g.Banks, g.Group, c.Plan.Chunk, formatSize(p.Mapped(c.Plan)))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func planJSON(dir string, p *planner.Planner, lengths []planned) map[string]any {
	choice := func(c planner.Choice) map[string]any {
		g := c.Plan.Geometry
		return map[string]any{
			"schedule": c.Plan.Schedule.String(), "q": c.Plan.Readers, "b": g.Banks, "g": g.Group, "chunk": c.Plan.Chunk,
			"ttft_s": c.First.Time.Seconds(), "tio_s": c.First.Reads.Seconds(), "texec_s": c.First.Compute.Seconds(), "bubble": c.First.Bubble(),
			"next_s": c.Next.Time.Seconds(), "next_tio_s": c.Next.Reads.Seconds(), "next_bubble": c.Next.Bubble(), "bytes_read": c.First.Bytes, "next_bytes_read": c.Next.Bytes,
			"plan_bytes": c.Plan.Bytes(), "arena_bytes": g.Bytes(), "mapped_bytes": p.Mapped(c.Plan),
		}
	}
	var out []map[string]any
	for _, x := range lengths {
		v := choice(x.Choice)
		v["tokens"] = x.tokens
		var frontier []map[string]any
		for _, c := range x.frontier {
			frontier = append(frontier, choice(c))
		}
		v["frontier"] = frontier
		out = append(out, v)
	}
	profile := map[string]any{
		"taken": p.Profile.Taken, "disk_bytes_per_s": p.Profile.Disk.Rate, "read_latency_s": p.Profile.Disk.Latency.Seconds(),
		"checksum_bytes_per_s": p.Profile.Disk.Check, "burst_s": p.Profile.Disk.Burst.Seconds(), "burst_bytes_per_s": p.Profile.Disk.Peak, "drag": p.Profile.Drag, "compute_s": p.Profile.Classes,
	}
	return map[string]any{"package": dir, "profile": profile, "n_star": p.Saturation(), "schedule": p.Schedule.String(), "plans": out}
}
