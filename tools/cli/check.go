package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower/host"
	"estream/tools/check"
)

// checkFlags are the flags of check.
type checkFlags struct {
	golden, prompt, backend string
	tolerance               float64
	asJSON                  bool
}

func (a *App) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags] --golden GOLDEN PACKAGE",
		Short: "Find where a package first differs from another implementation",
		Long: `Check runs a prompt and compares the values on its way through the model with
those that another implementation wrote to a safetensors file, layer by layer. The
reference interpreter runs the same prompt on the package's own graphs and weights:
where it differs too, the family's graph is wrong, where it does not, the backend.

The file has <prompt>.input_ids (whole numbers [B,T]) and any of <prompt>.embed,
.mixer_out.N, .router_logits.N, .topk_ids.N, .topk_weights.N, .ffn_out.N,
.layer_out.N, .final_norm and .logits, N being the layer. mixer_out and ffn_out
are what is added to the residual stream.

An element may be off by the tolerance, times the largest magnitude of the value
where that is above 1; ids must be equal. Exit code 1 says that something differs.`,
		Example: `  estream pack --encoding f32 testdata/olmoe olmoe-f32.estream
  estream check --golden testdata/olmoe/goldens.safetensors olmoe-f32.estream
  estream check --golden goldens.safetensors --prompt p33 --tolerance 0.05 olmoe-w8.estream`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.golden == "":
				return usagef("--golden is missing: usage: %s", cmd.UseLine())
			case f.tolerance < 0 || f.tolerance != f.tolerance:
				return usagef("--tolerance=%v is no number from 0", f.tolerance)
			}
			return a.check(cmd.Context(), f, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.golden, "golden", "", "safetensors file of another implementation's values (required)")
	fl.StringVar(&f.prompt, "prompt", "", "prompt of the file (default: the one with the most values)")
	fl.StringVar(&f.backend, "backend", "host", "what the graphs run on: "+strings.Join(a.backendNames(), ", "))
	fl.Float64Var(&f.tolerance, "tolerance", 0, "how far off an element may be (default 0.0001; packages with encoded weights have no default)")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) check(ctx context.Context, f checkFlags, dir string) error {
	o := check.Options{Prompt: f.prompt, Tolerance: f.tolerance, Names: slices.Concat(a.GoldenNames, check.Names()), Interp: a.interp()}
	b, err := a.choose(f.backend)
	if err != nil {
		return err
	}
	if o.Runtime.Ops, err = ir.Core(a.Ops...); err != nil {
		return err
	}
	o.Runtime.Packings = a.foreign()
	b.use(&o.Runtime, host.New(host.Options{Ops: a.HostOps}))
	r, err := check.Run(ctx, dir, f.golden, o)
	switch {
	case errors.Is(err, check.ErrTolerance):
		return usageError{err}
	case err != nil:
		return err
	case f.asJSON:
		err = a.printJSON(r)
	default:
		a.printCheck(r, f.golden, dir)
	}
	if err == nil && r.Verdict != check.Agrees {
		err = fmt.Errorf("%s differs from %s", dir, f.golden)
	}
	return err
}

// interp is the table of all operators.
func (a *App) interp() interp.Table {
	t := interp.Core()
	maps.Copy(t, a.Interp)
	return t
}

func (a *App) printCheck(r *check.Report, golden, dir string) {
	p := a.print
	red, plain := "", ""
	if a.colours() {
		red, plain = "\x1b[31m", "\x1b[0m"
	}
	p("%-6s %-16s %-16s %-19s %-19s %s", "layer", "value", "golden", "ours - golden", "interp - golden", "ours - interp")
	p("%-6s %-16s %-16s %9s %9s %9s %9s %9s %9s", "", "", "", "abs", "rel", "abs", "rel", "abs", "rel")
	for _, row := range r.Rows {
		line := fmt.Sprintf("%-6s %-16s %-16s %s %s %s", layerName(row), row.Value, row.Golden, diffText(row.Ours), diffText(row.Interp), diffText(row.Apart))
		if row.Over {
			line = red + line + "  over" + plain
		}
		p("%s", line)
	}
	for _, name := range r.Skipped {
		p("skipped %s: no value of the package is known by that name", name)
	}
	for _, why := range r.Failed {
		p("failed  %s", why)
	}
	if r.First < 0 {
		p("%s: %d values of %s are within %v of %s", dir, len(r.Rows), r.Prompt, r.Tolerance, golden)
		return
	}
	row := r.Rows[r.First]
	w := row.Worst
	p("first   layer %s, %s (%s), element %v: ours %s, interp %s, golden %.7g", layerName(row), row.Value, row.Golden, w.Index, number(w.Ours), number(w.Interp), w.Golden)
	p("likely  %s", advice(r.Verdict))
	if r.Encoded {
		p("        weights are encoded: the interpreter has the same codes, but does not round activations to 8 bits")
	}
	before := "nothing before it was compared"
	if r.First > 0 {
		prev := r.Rows[r.First-1]
		before = fmt.Sprintf("layer %s, %s still agrees", layerName(prev), prev.Value)
	}
	p("look    %s: estream inspect --ir --graph %s %s", before, row.Graph, dir)
}

// layerName is how a row's layer reads.
func layerName(row check.Row) string {
	switch row.Graph {
	case "embed":
		return "embed"
	case "head.norm", "head.proj":
		return "head"
	}
	return fmt.Sprint(row.Layer)
}

func diffText(d *check.Diff) string {
	if d == nil {
		return fmt.Sprintf("%9s %9s", "-", "-")
	}
	return fmt.Sprintf("%9.1e %9.1e", d.Abs, d.Rel)
}

func number(n *check.Number) string {
	if n == nil {
		return "missing"
	}
	return fmt.Sprintf("%.7g", *n)
}

// advice words a verdict.
func advice(v check.Verdict) string {
	switch v {
	case check.Graph:
		return "the family: the interpreter agrees with ours, so the graph, a weight's place or a setting is not the model's"
	case check.Backend:
		return "the backend: the interpreter on the same graph and weights agrees with the golden"
	case check.Interpreter:
		return "the interpreter: ours agrees with the golden"
	}
	return "several things: begin with the graph, on which the interpreter should agree with the golden"
}

// colours reports whether stdout is a terminal that shows colours, and whoever
// uses it has not asked for none (no-color.org).
func (a *App) colours() bool {
	f := file(a.Stdout)
	return f != nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
