package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/lower/qnn"
	"estream/lower/static"
	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/prepare"
)

func (a *App) prepareCommand() *cobra.Command {
	var socs []string
	var dlc string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prepare [flags] PACKAGE",
		Short: "Compile a package's graphs for neural processors, ahead of time",
		Long: `Prepare makes the graphs that qnn-htp runs for chips that need not be there, and
keeps them in the package as context binaries, which a run on such a chip loads
instead of compiling. Weights are not part of them, and what was made for other
generations stays. The package is one of --backend qnn-htp.

A chip is a name such as SM8750, its number in QNN such as 69, or a generation
of HTP such as v79. A run refuses binaries of another generation, or of a later
QAIRT than its own: prepare with the one that the device has. Sizes of the graphs
are those of a run: calibrate first, if at all.

With --dlc the package stays as it is: each graph is written to a DLC, the file that
the vendor's converters make, for the vendor's tools. That needs libQnnIr.so.`,
		Example: `  estream prepare olmoe.estream
  estream prepare --soc v79 olmoe.estream
  estream prepare --dlc graphs olmoe.estream`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dlc == "" {
				return a.prepareQNN(cmd.Context(), args[0], socs, asJSON)
			}
			if cmd.Flags().Changed("soc") {
				return usagef("--dlc writes graphs for no chip in particular: leave --soc out")
			}
			return a.describeQNN(cmd.Context(), args[0], dlc, asJSON)
		},
	}
	cmd.Flags().StringSliceVar(&socs, "soc", []string{"v75", "v79", "v81"}, "chips")
	cmd.Flags().StringVar(&dlc, "dlc", "", "write each graph to a DLC in this folder instead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) prepareQNN(ctx context.Context, dir string, socs []string, asJSON bool) error {
	o := prepare.Options{Host: a.host(), Waits: a.noteWaiting}
	var err error
	if o.Ops, err = ir.Core(a.Ops...); err != nil {
		return err
	}
	var backends []prepare.Backend
	for _, s := range socs {
		if _, err := qnn.ParseSoC(s); err != nil {
			return usagef("--soc: %v", err)
		}
		with := qnnOptions()
		with.SoC = s
		run := runtime.Options{Host: o.Host, Device: static.New(qnn.HTP(with), qnnTiers())}
		a.newRouting().use(dir, &run)
		backends = append(backends, run.Device.(prepare.Backend))
	}
	made, err := prepare.Run(ctx, dir, backends, o)
	if err != nil {
		return withFolder(err, dir)
	}
	if asJSON {
		return a.printJSON(map[string]any{"package": dir, "artifacts": artifactsJSON(made)})
	}
	for _, m := range made {
		fmt.Fprintf(a.Stdout, "%s: %s of %s for %s, made by QAIRT %s: %s, %s\n", dir, m.Name, m.Backend, m.Arch, m.SDK, m.File, formatSize(m.Length))
	}
	return nil
}

func (a *App) noteWaiting(folder string) {
	a.note("waiting for another program that has the lock of the folder %s, such as an estream prepare; Ctrl-C ends this one", folder)
}

// describeQNN writes the package's graphs to a folder as DLCs.
func (a *App) describeQNN(ctx context.Context, dir, to string, asJSON bool) error {
	o := prepare.Options{Host: a.host(), Waits: a.noteWaiting}
	var err error
	if o.Ops, err = ir.Core(a.Ops...); err != nil {
		return err
	}
	device := qnn.HTP(qnnOptions())
	run := runtime.Options{Host: o.Host, Device: static.New(device, qnnTiers())}
	a.newRouting().use(dir, &run)
	made, err := prepare.Describe(ctx, dir, to, run.Device, device.DLC, o)
	if err != nil {
		return withFolder(err, dir)
	}
	if asJSON {
		return a.printJSON(map[string]any{"package": dir, "graphs": made})
	}
	for _, m := range made {
		fmt.Fprintf(a.Stdout, "%s: %s, %s\n", m.Graph, m.File, formatSize(m.Bytes))
	}
	return nil
}

func artifactsJSON(list []layout.Artifact) []map[string]any {
	out := []map[string]any{}
	for _, x := range list {
		out = append(out, map[string]any{"backend": x.Backend, "arch": x.Arch, "sdk": x.SDK, "name": x.Name, "file": x.File, "bytes": x.Length, "crc": x.CRC})
	}
	return out
}
