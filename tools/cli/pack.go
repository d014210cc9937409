package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/pager/layout"
	"estream/tools/pack"
)

func (a *App) packCommand() *cobra.Command {
	var o pack.Options
	var encoding string
	var kinds [4]string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pack [flags] CHECKPOINT PACKAGE",
		Short: "Lower a checkpoint into a package",
		Long: `Pack reads a checkpoint (a folder with config.json and safetensors, a .gguf file, or
what else estream formats lists), lowers its model and writes a package: a new
folder with the graphs and all weights, encoded and laid out to be read from disk.
It is written next to its place, in PACKAGE.partial, and renamed at the end. An
interrupted conversion is not lost: the same command again goes on where it was.
Memory stays under 1 GiB, however large the model.

Without --encoding and --experts, experts that a checkpoint has in Q4_0 keep their codes, as with --encoding w4full.

Encodings:
` + encodingTable(),
		Example: `  estream pack OLMoE-1B-7B-0924 olmoe.estream
  estream pack --encoding w8 OLMoE-1B-7B-0924 olmoe-w8.estream
  estream pack qwen3-30b-a3b-q4_0.gguf qwen3.estream
  estream pack --encoding w4g128 --attention w4g128 --head exact --embed exact OLMoE-1B-7B-0924 study.estream`,
		Args: args(cobra.ExactArgs(2)),
	}
	f := cmd.Flags()
	f.StringVar(&encoding, "encoding", pack.Encodings[0].Name, "what weights become")
	for i, k := range []string{"experts", "attention", "head", "embed"} {
		f.StringVar(&kinds[i], k, "", "what "+k+" weights become instead: exact (as in the checkpoint), f32, bf16, w8, w4g32, ...")
	}
	f.StringVar(&o.Backend, "backend", "host", "whose programs will run it: "+strings.Join(a.backendNames(), ", "))
	f.Int64Var(&o.Align, "align", 0, "alignment of records in bytes, a power of two (default 16384)")
	f.IntVar(&o.Workers, "workers", 0, "records made at a time (default: two a processor)")
	f.BoolVar(&o.Restart, "restart", false, "discard what an interrupted conversion left, instead of going on with it")
	f.BoolVar(&o.IgnoreIndex, "ignore-index", false, "read the shards that are there instead of a stale model.safetensors.index.json")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.Encoding, err = packEncoding(encoding, kinds); err != nil {
			return err
		}
		o.KeepCodes = !f.Changed("encoding") && !f.Changed("experts")
		return a.pack(cmd.Context(), args[0], args[1], o, asJSON)
	}
	return cmd
}

// checkSizes refuses what no conversion can do.
func checkSizes(o pack.Options) error {
	if o.Workers < 0 {
		return usagef("--workers=%d: want 0 (two a processor) or more", o.Workers)
	}
	if rule := layout.AlignRule(o.Align); o.Align != 0 && rule != "" {
		return usagef("--align=%s", rule)
	}
	return nil
}

func encodingTable() string {
	var b strings.Builder
	for _, e := range pack.Encodings {
		fmt.Fprintf(&b, "  %-7s %s\n", e.Name, e.Doc)
	}
	return b.String()
}

func packEncoding(name string, kinds [4]string) (pack.Encoding, error) {
	e, err := pack.FindEncoding(name)
	if err != nil {
		return e, usageError{err}
	}
	for i, kind := range []string{"experts", "attention", "head", "embed"} {
		if kinds[i] == "" {
			continue
		}
		d, err := pack.ParseKind(kind, kinds[i])
		if err != nil {
			return e, usageError{err}
		}
		*[]*ir.DType{&e.Experts, &e.Attention, &e.Head, &e.Embed}[i] = d
		e.Name += "," + kind + "=" + kinds[i]
	}
	return e, nil
}

// packFor sets what of o follows from its backend and from the program.
func (a *App) packFor(o *pack.Options) error {
	packing, err := a.packing(o.Backend)
	if err != nil {
		return err
	}
	o.Packing, o.Families, o.Formats = packing, a.Families, a.Formats
	return nil
}

func (a *App) pack(ctx context.Context, from, to string, o pack.Options, asJSON bool) error {
	if err := a.packFor(&o); err != nil {
		return err
	}
	report, err := a.convert(ctx, "packing", &o, func() (*pack.Report, error) { return pack.Run(ctx, from, to, o) })
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(reportJSON(report, map[string]any{"encoding": report.Encoding, "package": to}))
	}
	fmt.Fprintf(a.Stdout, "%s: %s, %s of weights packed as %s into %s %s\n", to, report.Family, formatSize(report.Read), report.Encoding, formatSize(report.Written), pace(report))
	for _, kv := range report.Policy {
		fmt.Fprintf(a.Stdout, "  %-22s %s\n", kv.Key, kv.Value)
	}
	return nil
}
