package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/models/checkpoint"
)

// listCommands print what this program is made of.
func (a *App) listCommands() []*cobra.Command {
	return []*cobra.Command{
		listCommand("families", "List the families of models", `Families prints each family of models that can be packed: the names that
config.json's "architectures" and other formats have for it, and what of
config.json it takes and what it refuses. Beside that each takes the shared sizes,
tied embeddings, and rotary embeddings that are plain, linear or yarn. A key that a
family does not know and that could change the model is refused by its name.`, func(asJSON bool) error { return a.families(asJSON) }),
		listCommand("ops", "List the operators of graphs", `Ops prints each operator: its operands, who runs it, and its result. Operands are
t for a tensor, i for whole numbers, s for a state; the last may repeat where a +
follows. interp is the reference interpreter; a backend that does not list its
operators is not named. Operators marked c work on some columns as on all, so that
a head that is read in parts may end in them.`, func(asJSON bool) error { return a.ops(asJSON) }),
		listCommand("formats", "List the checkpoint formats", `Formats prints each format of checkpoints that can be packed, in the order in which
a path is tried: how its files end, and the element types that can be weights.`, func(asJSON bool) error { return a.formats(asJSON) }),
		listCommand("backends", "List the backends", `Backends prints each backend that a package can be written for: how its programs
read matrices and of what types, the instruction sets of this processor, the best
first, which is taken unless the environment variable ESTREAM_CPU names another,
and the operators that it leaves to others. Of one that needs libraries it prints
which are found, or what is missing and the remedy; the environment variable
ESTREAM_QNN_LIBS names QNN's folder, ESTREAM_QNN_SOC the chip.`, func(asJSON bool) error { return a.listBackends(asJSON) }),
	}
}

func listCommand(name, short, long string, list func(asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: name + " [flags]", Short: short, Long: long, Example: "  estream " + name + "\n  estream " + name + " --json",
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return list(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printTable prints rows in columns under a heading.
func (a *App) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

func (a *App) families(asJSON bool) error {
	type family struct {
		Name          string              `json:"name"`
		Doc           string              `json:"doc"`
		Architectures []string            `json:"architectures"`
		Formats       map[string][]string `json:"formats"` // their names in formats that have other names
		Ignored       []string            `json:"ignored"` // keys of config.json that change nothing
	}
	list, table := []family{}, [][]string{{"FAMILY", "ARCHITECTURES", "TAKES AND REFUSES"}}
	for _, f := range a.Families {
		x := family{f.Name, f.Doc, f.Architectures, a.inFormats(f.Architectures), f.Ignored}
		names := slices.Clone(x.Architectures)
		for _, format := range slices.Sorted(maps.Keys(x.Formats)) {
			names = append(names, strings.Join(x.Formats[format], ", ")+" ("+format+")")
		}
		list, table = append(list, x), append(table, []string{x.Name, strings.Join(names, ", "), x.Doc})
	}
	if asJSON {
		return a.printJSON(map[string]any{"families": list})
	}
	return a.printTable(table)
}

// inFormats returns what formats have for architectures instead, by the formats' names.
func (a *App) inFormats(architectures []string) map[string][]string {
	out := map[string][]string{}
	for _, f := range a.Formats {
		for _, own := range slices.Sorted(maps.Keys(f.Architectures)) {
			if slices.Contains(architectures, f.Architectures[own]) {
				out[f.Name] = append(out[f.Name], own)
			}
		}
	}
	return out
}

func (a *App) ops(asJSON bool) error {
	type op struct {
		Name       string   `json:"name"`
		Operands   string   `json:"operands"`
		Columnwise bool     `json:"columnwise"`
		RunBy      []string `json:"run_by"`
		Doc        string   `json:"doc"`
	}
	who, err := a.runners()
	if err != nil {
		return err
	}
	list, table := []op{}, [][]string{{"OPERATOR", "OPERANDS", "", "RUN BY", "RESULT"}}
	for _, o := range slices.Concat(ir.CoreOps(), a.Ops) {
		x := op{o.Name, o.Operands, o.Columnwise, []string{}, o.Doc}
		for _, r := range who {
			if slices.Contains(r.ops, o) {
				x.RunBy = append(x.RunBy, r.name)
			}
		}
		mark := map[bool]string{true: "c"}[o.Columnwise]
		list, table = append(list, x), append(table, []string{x.Name, cmp.Or(x.Operands, "-"), mark, strings.Join(x.RunBy, ", "), x.Doc})
	}
	if asJSON {
		return a.printJSON(map[string]any{"operators": list})
	}
	return a.printTable(table)
}

// A runner is who runs operators, and which.
type runner struct {
	name string
	ops  []*ir.Op
}

// runners are the interpreter and the backends that list their operators.
func (a *App) runners() ([]runner, error) {
	out := []runner{{"interp", slices.Collect(maps.Keys(a.interp()))}}
	for _, name := range a.backendNames() {
		b, err := a.backend(name)
		if err != nil {
			return nil, err
		}
		out = append(out, runner{name, opsOf(b)})
	}
	return out, nil
}

func (a *App) formats(asJSON bool) error {
	type format struct {
		Name          string             `json:"name"`
		Doc           string             `json:"doc"`
		Extensions    []string           `json:"extensions"`
		Types         []checkpoint.DType `json:"types"`
		Architectures map[string]string  `json:"architectures"` // by the names that the format has for them
	}
	list, table := []format{}, [][]string{{"FORMAT", "FILES", "WHAT A CHECKPOINT IS", "TYPES"}}
	for _, f := range a.Formats {
		var types []string
		for _, d := range f.DTypes {
			types = append(types, string(d))
		}
		list = append(list, format{f.Name, f.Doc, f.Extensions, f.DTypes, f.Architectures})
		table = append(table, []string{f.Name, strings.Join(f.Extensions, ", "), f.Doc, strings.Join(types, " ")})
	}
	if asJSON {
		return a.printJSON(map[string]any{"formats": list})
	}
	return a.printTable(table)
}
