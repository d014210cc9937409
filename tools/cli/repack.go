package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/tools/pack"
)

func (a *App) repackCommand() *cobra.Command {
	var o pack.RepackOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "repack [flags] PACKAGE NEW",
		Short: "Write a package for another backend or in another alignment",
		Long: `Repack writes a package once more, arranged for the programs of another backend, or
with its records at another alignment, as a disk of larger blocks wants them.
The weights keep their codes and scales: nothing is rounded again, and the
checkpoint is not needed. Programs that the old backend compiled are left out. An
interrupted repack goes on where it was, as pack does.`,
		Example: `  estream repack --backend qnn-htp olmoe.estream olmoe-htp.estream
  estream repack --align 65536 olmoe.estream olmoe-64k.estream`,
		Args: args(cobra.ExactArgs(2)),
	}
	f := cmd.Flags()
	f.StringVar(&o.Backend, "backend", "host", "whose programs will run it: "+strings.Join(a.backendNames(), ", "))
	f.Int64Var(&o.Align, "align", 0, "alignment of records in bytes, a power of two (default: as it is)")
	f.IntVar(&o.Workers, "workers", 0, "records made at a time (default: two a processor)")
	f.BoolVar(&o.Restart, "restart", false, "discard what an interrupted conversion left, instead of going on with it")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.repack(cmd.Context(), args[0], args[1], o, asJSON)
	}
	return cmd
}

func (a *App) repack(ctx context.Context, from, to string, o pack.RepackOptions, asJSON bool) error {
	packing, err := a.packing(o.Backend)
	if err != nil {
		return err
	}
	if o.Ops, err = ir.Core(a.Ops...); err != nil {
		return err
	}
	o.Packing, o.Known = packing, a.packings()
	report, err := a.convert(ctx, "repacking", &o.Options, func() (*pack.Report, error) { return pack.Repack(ctx, from, to, o) })
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(reportJSON(report, map[string]any{"package": to, "packing": o.Packing.Name}))
	}
	fmt.Fprintf(a.Stdout, "%s: %s, %s repacked as %s into %s %s\n", to, report.Family, formatSize(report.Read), o.Packing.Name, formatSize(report.Written), pace(report))
	return nil
}
