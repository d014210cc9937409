package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"estream/tools/device"
)

// deviceFlags are the flags of device's commands.
type deviceFlags struct {
	adb, serial, to string
	load            device.Load
	output          string
	asJSON          bool
}

func (a *App) deviceCommand() *cobra.Command {
	var f deviceFlags
	cmd := &cobra.Command{
		Use:   "device [flags] COMMAND",
		Short: "Run packages on a phone or board that adb reaches",
		Long: `Device pushes estream, a package and QNN's libraries to a device by adb, into a
folder from which programs can be run, tries that, runs, and pulls the results.
Files that are there with the right size and checksum are not pushed again, so a push
that was interrupted goes on where it was.

The program is one that is built for the device: docs/device.md says how.`,
		Example: `  estream device probe
  estream device push --program estream-android olmoe.estream
  estream device run --program estream-android -o logits.safetensors olmoe.estream -- --logits all "The capital of France is"`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("device needs a command: probe, push, run or pull: see estream device --help")
		},
	}
	cmd.AddCommand(a.deviceProbeCommand(&f), a.devicePushCommand(&f), a.deviceRunCommand(&f), a.devicePullCommand(&f))
	fl := cmd.PersistentFlags()
	fl.StringVarP(&f.serial, "serial", "s", os.Getenv("ANDROID_SERIAL"), "serial number of the device (default: the only one, or ANDROID_SERIAL)")
	fl.StringVar(&f.adb, "adb", "", "the program adb (default: that of PATH)")
	fl.StringVar(&f.to, "to", "", "folder on the device (default: /data/local/tmp/estream)")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	cmd.Flags().AddFlagSet(fl)
	return cmd
}

// loadFlags say what is pushed beside a package.
func (f *deviceFlags) loadFlags(fl *pflag.FlagSet) {
	fl.StringVar(&f.load.Program, "program", "", "estream built for the device (default: the one that is there)")
	fl.StringVar(&f.load.Libraries, "libraries", "", "folder of QNN's libraries for the device, or of an SDK")
}

func (a *App) deviceProbeCommand(f *deviceFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "probe [flags]", Short: "Say what the device is, and try to run the program there",
		Example: "  estream device probe --program estream-android",
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.deviceProbe(cmd.Context(), f) },
	}
	f.loadFlags(cmd.Flags())
	return cmd
}

func (a *App) devicePushCommand(f *deviceFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "push [flags] [PACKAGE]", Short: "Push a package, the program and libraries",
		Example: "  estream device push --program estream-android --libraries qairt/2.51.0.260929 olmoe.estream",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.load.Package = append(args, "")[0]
			if f.load == (device.Load{}) {
				return usagef("nothing to push: give PACKAGE, --program or --libraries")
			}
			s, err := a.attach(cmd.Context(), f)
			if err == nil {
				err = a.devicePush(cmd.Context(), s, f)
			}
			if err != nil || !f.asJSON {
				return err
			}
			return a.printJSON(map[string]any{"device": s.facts, "folder": s.place.Folder, "notes": s.notes(), "pushed": s.pushed})
		},
	}
	f.loadFlags(cmd.Flags())
	return cmd
}

func (a *App) deviceRunCommand(f *deviceFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run [flags] PACKAGE -- [FLAGS OF RUN] [PROMPT]", Short: "Push what is missing, run, and pull the results",
		Long: `Run pushes what the device lacks, starts the program there once to see that it can
be, and runs the package: what stands behind -- is given to estream run on the device.
With -o the logits that it writes are pulled.`,
		Example: `  estream device run olmoe.estream -- "The capital of France is"`,
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.load.Package = args[0]
			return a.deviceRun(cmd.Context(), f, args[1:])
		},
	}
	f.loadFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write logits to this file, here")
	return cmd
}

func (a *App) devicePullCommand(f *deviceFlags) *cobra.Command {
	return &cobra.Command{
		Use: "pull [flags] REMOTE FILE", Short: "Pull a file from the device's folder",
		Example: "  estream device pull results/logits.safetensors logits.safetensors",
		Args:    args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.attach(cmd.Context(), f)
			if err != nil {
				return err
			}
			remote := args[0]
			if !path.IsAbs(remote) {
				remote = path.Join(s.place.Folder, remote)
			}
			if err := s.device.Pull(cmd.Context(), remote, args[1]); err != nil || !f.asJSON {
				return err
			}
			return a.printJSON(map[string]any{"remote": remote, "file": args[1]})
		},
	}
}

// A deviceTarget is a device, what it is, and where things go there.
type deviceTarget struct {
	device *device.Device
	facts  *device.Facts
	place  *device.Place
	pushed device.Pushed
}

// notes are those of the place, never nil.
func (s *deviceTarget) notes() []string { return append([]string{}, s.place.Notes...) }

// attach finds the device, and a folder on it.
func (a *App) attach(ctx context.Context, f *deviceFlags) (*deviceTarget, error) {
	adb, err := device.Look(f.adb)
	if err != nil {
		return nil, err
	}
	s := &deviceTarget{}
	if s.device, err = adb.Pick(ctx, f.serial); err != nil {
		return nil, err
	}
	if s.facts, err = s.device.Facts(ctx); err != nil {
		return nil, err
	}
	if s.place, err = s.device.Place(ctx, s.facts, f.to); err != nil {
		return nil, err
	}
	for _, n := range s.place.Notes {
		a.note("note: %s; %s is used", n, s.place.Folder)
	}
	return s, nil
}

func (a *App) devicePush(ctx context.Context, s *deviceTarget, f *deviceFlags) error {
	if f.load.Package != "" {
		m, err := a.look(ctx, f.load.Package) // no stub of a package is pushed
		if err != nil {
			return err
		}
		if err := m.Close(); err != nil {
			return err
		}
	}
	files, err := f.load.Files(s.facts)
	if err != nil {
		return err
	}
	bar := a.progress("pushing")
	s.pushed, err = s.device.Push(ctx, s.place.Folder, files, bar.update)
	bar.end()
	if err != nil {
		return err
	}
	a.note("%d files, %s pushed to %s on %s; %d were there", s.pushed.Files, formatSize(s.pushed.Bytes), s.place.Folder, s.device.Serial, s.pushed.Kept)
	return nil
}

// on is how the program is run there.
func (a *App) on(s *deviceTarget, f *deviceFlags, args ...string) device.Run {
	return device.Run{Folder: s.place.Folder, Args: args, Libraries: f.load.Libraries != "", OS: s.facts.OS, Stdout: a.Stdout, Stderr: &printer{Writer: a.Stderr}}
}

func (a *App) deviceProbe(ctx context.Context, f *deviceFlags) error {
	s, err := a.attach(ctx, f)
	if err != nil {
		return err
	}
	out := map[string]any{"device": s.facts, "folder": s.place.Folder, "notes": s.notes(), "version": nil, "doctor": nil}
	if !f.asJSON {
		a.printDevice(s)
	}
	if f.load == (device.Load{}) {
		if f.asJSON {
			return a.printJSON(out)
		}
		return nil
	}
	if err := a.devicePush(ctx, s, f); err != nil {
		return err
	}
	version, err := s.device.Probe(ctx, a.on(s, f))
	if err != nil {
		return err
	}
	out["version"] = version
	examine := a.on(s, f, "doctor", "--folder", s.place.Folder)
	var report bytes.Buffer
	if f.asJSON {
		examine.Args, examine.Stdout = append(examine.Args, "--json"), &report
	} else {
		fmt.Fprintf(a.Stdout, "program  %s\n\n", version)
	}
	code, err := s.device.Run(ctx, examine)
	if err == nil {
		err = ended(s, code)
	}
	if err != nil || !f.asJSON {
		return err
	}
	if !json.Valid(report.Bytes()) {
		return fmt.Errorf("doctor on device %s says %q", s.device.Serial, report.String())
	}
	out["doctor"] = json.RawMessage(report.Bytes())
	return a.printJSON(out)
}

func (a *App) printDevice(s *deviceTarget) {
	p := a.print
	x := s.facts
	p("device   %s: %s, %s %s, %s, %s of memory", x.Serial, x.Model, x.OS, x.Release, x.Machine, formatSize(x.Memory))
	if x.NoSoC == "" {
		p("chip     %s", x.SoC)
	} else {
		p("chip     %s", x.NoSoC)
	}
	p("folder   %s", s.place.Folder)
}

func (a *App) deviceRun(ctx context.Context, f *deviceFlags, args []string) (err error) {
	out, err := newOutput(ctx, "output", f.output, f.load.Package, f.load.Program, f.load.Libraries)
	if err != nil {
		return err
	}
	out.discard() // adb writes it: its place is only tried
	if out != nil && out.path == "" {
		return usagef("--output %s: adb writes no pipe, device or stream: name a file", f.output)
	}
	s, err := a.attach(ctx, f)
	if err != nil {
		return err
	}
	if err := a.devicePush(ctx, s, f); err != nil {
		return err
	}
	if _, err := s.device.Probe(ctx, a.on(s, f)); err != nil {
		return err
	}
	args = append([]string{"run", path.Join(s.place.Folder, device.RemotePackage(f.load.Package))}, args...)
	const result = "logits.safetensors"
	if f.output != "" {
		args = append([]string{"run", "--output", path.Join(s.place.Folder, result)}, args[1:]...)
	}
	if f.asJSON {
		args = append([]string{"run", "--json"}, args[1:]...)
	}
	code, err := s.device.Run(ctx, a.on(s, f, args...))
	if err == nil {
		err = ended(s, code)
	}
	if err != nil || f.output == "" {
		return err
	}
	return s.device.Pull(ctx, path.Join(s.place.Folder, result), out.path)
}

// ended is the error of a program that ended with a code on a device.
func ended(s *deviceTarget, code int) error {
	err := fmt.Errorf("estream on device %s ended with exit code %d", s.device.Serial, code)
	switch code {
	case 0:
		return nil
	case 2:
		return usageError{err}
	case 137:
		return errors.Join(err, errors.New("it was killed, as where memory runs out: give --memory behind --"))
	}
	return err
}
