package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
	"estream/tools/doctor"
)

func (a *App) doctorCommand() *cobra.Command {
	var o doctor.Options
	var load, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Say what this machine has, what is missing, and the remedy",
		Long: `Doctor looks at the processor (and computes something on it), memory and its
limits, the disk, QNN's libraries with their versions, the HTP and how it is reached,
and devices that adb knows. For all that is missing or wrong it says what to do.

QNN's libraries are those of --libraries, of the folder that the environment variable
ESTREAM_QNN_LIBS names, or of the first folder that has the backend's: the program's
own, the user's caches (tools/qnn-libs puts them there), the vendor's SDK, the system's.
qnn-cpu may be of another folder than qnn-htp. Only files are read, unless --load is given.

The exit code is 0 if packages can be run on the processor, whatever else is missing.`,
		Example: `  estream doctor
  estream doctor --json --folder /data/models
  estream doctor --libraries qairt/2.51.0.260929 --load`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.System, o.Built = find.Here(), doctor.Built()
			if load {
				exe, err := os.Executable()
				if err != nil {
					return err
				}
				o.Child = native.Child{Command: []string{exe, qnnChild}}
			}
			return a.doctor(cmd.Context(), o, asJSON)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Folder, "folder", ".", "where packages are to lie: its disk is tried")
	fl.StringVar(&o.Libraries, "libraries", "", "folder of QNN's libraries, or of an SDK (default: the first that has some)")
	fl.StringVar(&o.SoC, "soc", os.Getenv(qnnSoC), "the chip, such as SM8750 (default: ESTREAM_QNN_SOC, or as the system says)")
	fl.StringVar(&o.ADB, "adb", "", "the program adb (default: that of PATH)")
	fl.BoolVar(&load, "load", false, "load the libraries too, each in a process of its own")
	fl.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) doctor(ctx context.Context, o doctor.Options, asJSON bool) error {
	r := doctor.Examine(ctx, o)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := a.printFindings(r, asJSON); err != nil {
		return err
	}
	if !r.OK {
		return errors.New("packages cannot be run on this processor")
	}
	return nil
}

func (a *App) printFindings(r *doctor.Report, asJSON bool) error {
	if asJSON {
		return a.printJSON(r)
	}
	var table [][]string
	for _, f := range r.Findings {
		table = append(table, []string{f.Area, f.Name, string(f.State), f.Value})
	}
	if err := a.printTable(table); err != nil {
		return err
	}
	for _, f := range r.Ill() {
		fmt.Fprintf(a.Stdout, "\n%s, %s: %s\n    %s\n", f.Area, f.Name, f.Value, f.Remedy)
	}
	return nil
}
