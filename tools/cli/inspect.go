package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
	"estream/tools/export"
)

func (a *App) inspectCommand() *cobra.Command {
	var asJSON, ir, legal, records bool
	var graph, html string
	cmd := &cobra.Command{
		Use:   "inspect [flags] PACKAGE|CHECKPOINT",
		Short: "Show what a package holds",
		Long: `Inspect prints a package's family, parameters, sizes, programs compiled ahead of time,
calibration, policy, layer classes and record bindings. With --ir it prints the graphs
as IR text as they are stored, with --legal as the host backend runs them, with
--records every record. With --html it writes a page for a browser: graphs after each
pass, and where every weight lies.
Of a context binary or a DLC of QNN's it prints what made it and its graphs, with
--records their inputs and outputs.

A class is what layers of one shape share: its graphs are the phases body (up to
the router), route, side (what runs while experts load), experts and tail; early
guesses routes. A value "from split/%12" was made by that pass of value 12.`,
		Example: `  estream inspect olmoe.estream
  estream inspect --ir --graph c0.route olmoe.estream
  estream inspect --legal --graph expert0 olmoe.estream
  estream inspect --html olmoe.html olmoe.estream`,
		Args: args(cobra.ExactArgs(1)),
	}
	var w weightsFlags
	w.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&ir, "ir", false, "print the stored graphs as IR text")
	f.BoolVar(&legal, "legal", false, "print the graphs as legalized for the host backend")
	f.BoolVar(&records, "records", false, "print every record, or every input and output")
	f.StringVar(&graph, "graph", "", "print this graph only")
	f.StringVar(&html, "html", "", "write a page to look at into this file")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(w.check(), oneView(f)); err != nil {
			return err
		}
		if w.on {
			return a.inspectWeights(cmd.Context(), args[0], w, asJSON)
		}
		ctx := cmd.Context()
		if is, err := a.inspectCompiled(ctx, args[0], f, asJSON, records); is {
			return err
		}
		m, err := until(ctx, func() (*runtime.Model, error) { return a.look(ctx, args[0]) })
		if errors.Is(err, layout.ErrNotPackage) && a.matches(args[0]) {
			return fmt.Errorf("%s is a checkpoint, of which inspect shows --weights alone; estream pack makes a package of it, and estream synth --dry-run --html FILE --config config.json the page that this would have: %w", args[0], layout.ErrNotPackage)
		}
		if err != nil {
			return err
		}
		defer m.Close()
		switch {
		case html != "":
			return a.inspectHTML(ctx, m, args[0], html)
		case asJSON:
			return a.inspectJSON(m, args[0])
		case ir || legal || graph != "":
			return a.printGraphs(m, legal, graph)
		}
		return a.inspect(m, args[0], records)
	}
	return cmd
}

// oneView refuses flags of which one would be passed over.
func oneView(f *pflag.FlagSet) error {
	first := ""
	for _, name := range []string{"weights", "html", "ir", "legal", "graph", "records"} {
		switch graphs := name == "graph" && (first == "ir" || first == "legal"); {
		case !f.Changed(name) || graphs:
		case first != "":
			return usagef("--%s and --%s show different things: give one", first, name)
		default:
			first = name
		}
	}
	if f.Changed("html") && f.Changed("json") {
		return usagef("--html writes a page, and nothing is printed: leave --json out")
	}
	return nil
}

func (a *App) printGraphs(m *runtime.Model, legal bool, name string) error {
	text := m.Manifest().Module
	if legal {
		text = m.Module().String()
	}
	if name == "" {
		_, err := fmt.Fprint(a.Stdout, text)
		return err
	}
	for _, part := range strings.Split(text, "\n\n") {
		if first, _, _ := strings.Cut(part, "\n"); first == "graph "+name || strings.HasPrefix(first, "graph "+name+" on ") {
			_, err := fmt.Fprintln(a.Stdout, strings.TrimRight(part, "\n"))
			return err
		}
	}
	return fmt.Errorf("the package has no graph %q: see estream inspect --ir", name)
}

func (a *App) inspect(m *runtime.Model, dir string, records bool) error {
	man := m.Manifest()
	c, err := a.census(m)
	if err != nil {
		return err
	}
	p := a.print
	p("family    %s, %d layers, hidden %d, vocabulary of %d", man.Family, len(m.Module().Layers), hidden(m), m.Vocab())
	p("format    %d, aligned to %s, packing %s for %s", man.Version, formatSize(man.Align), man.Packing, strings.Join(man.Backends, ", "))
	a.printCensus(c)
	a.printFiles(man.Files)
	for _, x := range man.Artifacts {
		p("compiled  %s of %s for %s, by %s: %s", x.Name, x.Backend, x.Arch, x.SDK, x.File)
	}
	a.calibrationOf(dir).print(p)
	for _, kv := range man.Policy {
		p("policy    %s: %s", kv.Key, kv.Value)
	}
	for _, kv := range man.Provenance {
		p("from      %s: %s", kv.Key, kv.Value)
	}
	for _, c := range classes(m) {
		p("class     %s: %d layers (%s); graphs %s", c.Name, len(c.Layers), export.Ranges(c.Layers), strings.Join(c.Graphs, ", "))
	}
	for _, e := range experts(m) {
		p("experts   %s of class %s: %d a layer, %d a token, %s each (%s on disk)", e.Callee, e.Class, e.Experts, e.Chosen, formatSize(e.Bytes), formatSize(e.Stride))
	}
	p("records   %d of experts, %d dense", len(man.Experts), len(man.Dense))
	p("ops       %s", strings.Join(man.Ops, ", "))
	if !records {
		return nil
	}
	printRecords := func(file string, rs []layout.Record) {
		for _, r := range rs {
			p("record    %s layer %d index %d: %s, %d bytes at %d, crc %08x, factors %v", file, r.Layer, r.Index, r.Class, r.Length, r.Offset, r.CRC, r.Factors)
		}
	}
	printRecords(layout.DenseName, man.Dense)
	printRecords(layout.ExpertsName, man.Experts)
	for _, r := range man.Rows {
		p("rows      %s: %d rows of %d bytes at %d, factor %v", r.Name, r.Rows, r.RowBytes, r.Offset, r.Factor)
	}
	return nil
}

// A classInfo is a layer class as inspect shows it.
type classInfo struct {
	Name   string   `json:"name"`
	Layers []int    `json:"layers"`
	Graphs []string `json:"graphs"`
}

func classes(m *runtime.Model) []classInfo {
	var out []classInfo
	at := map[string]int{}
	for l, name := range m.Module().Layers {
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, classInfo{Name: name})
			for _, g := range m.Module().Graphs {
				if strings.HasPrefix(g.Name, name+".") {
					out[i].Graphs = append(out[i].Graphs, g.Name)
				}
			}
		}
		out[i].Layers = append(out[i].Layers, l)
	}
	return out
}

// An expertInfo is what the experts of a layer class are.
type expertInfo struct {
	Class   string `json:"class"`
	Callee  string `json:"callee"`  // their graph
	Experts int    `json:"experts"` // of a layer
	Chosen  int    `json:"chosen"`  // of a token
	Bytes   int64  `json:"bytes"`   // of one
	Stride  int64  `json:"stride"`  // from one to the next on disk
}

func experts(m *runtime.Model) []expertInfo {
	var out []expertInfo
	for _, c := range classes(m) {
		callee, n, err := passes.Routed(m.Module(), c.Name)
		if err != nil || n == 0 {
			continue // a dense class: the package was opened
		}
		e := expertInfo{Class: c.Name, Callee: callee, Experts: n}
		if g := m.Module().Graph(c.Name + "." + passes.ExpertsPhase); g.Value("experts.ids") != nil {
			e.Chosen = g.Value("experts.ids").Type.Last().N
		}
		for _, r := range m.Manifest().Experts {
			if r.Class == callee {
				e.Bytes, e.Stride = r.Length, r.Stride(m.Manifest().Align)
				break
			}
		}
		out = append(out, e)
	}
	return out
}

func hidden(m *runtime.Model) int {
	return m.Module().Graph(passes.EmbedGraph).Outputs[0].Type.Last().N
}

func (a *App) inspectJSON(m *runtime.Model, dir string) error {
	man := m.Manifest()
	c, err := a.census(m)
	if err != nil {
		return err
	}
	return a.printJSON(censusJSON(c, map[string]any{
		"family": man.Family, "version": man.Version, "align": man.Align, "packing": man.Packing, "backends": man.Backends, "ops": man.Ops,
		"layers": m.Module().Layers, "classes": classes(m), "expert_classes": experts(m), "hidden": hidden(m), "vocab": m.Vocab(), "files": filesJSON(man.Files), "policy": keyValuesJSON(man.Policy), "provenance": keyValuesJSON(man.Provenance),
		"config": string(man.Config), "module": man.Module, "experts": recordsJSON(man.Experts), "dense": recordsJSON(man.Dense), "rows": regionsJSON(man.Rows), "artifacts": artifactsJSON(man.Artifacts), "calibration": a.calibrationOf(dir),
	}))
}
