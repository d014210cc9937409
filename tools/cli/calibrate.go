package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"estream/ir"
	"estream/pager/layout"
	"estream/tools/calibrate"
)

// calibrateFlags are the flags of calibrate beside those that say how a package runs.
type calibrateFlags struct {
	runFlags
	text            []string
	batch, multiple int
	tiers           int
	rows, groups    []string
	onHost, drop    bool
	threshold       float64
	cost            map[string]*float64 // in microseconds, by flag; negative: not given
}

func (a *App) calibrateCommand() *cobra.Command {
	f := calibrateFlags{cost: map[string]*float64{}}
	cmd := &cobra.Command{
		Use:   "calibrate [flags] PACKAGE --text FILE...",
		Short: "Learn from text how a package routes, and size the graphs of its experts by that",
		Long: `Calibrate runs text through a package, counts which experts it is routed to, and
chooses what graphs of fixed sizes a static device, such as an NPU, is to have for
the experts: the tiers of rows, how many experts a launch takes, and which experts
do not repay a launch and run on the host. It keeps both in PACKAGE/calibration.json,
by which run sizes the device's graphs and tells when routing drifts.

A file of text is one text, or with a name in .jsonl an object a line, its text
under "text". Costs that are not given are assumed from the size of an expert;
with --backend they are measured there. After Ctrl-C what was counted is kept,
except in place of a calibration by the whole of a text.`,
		Example: `  estream calibrate olmoe.estream --text novel.txt
  estream calibrate --batch 128 --tiers 6 --groups 1,2,4 olmoe.estream --text a.txt b.txt
  estream calibrate --json -o olmoe.json olmoe.estream --text texts.jsonl`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd.Context(), f, args) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.text, "text", nil, "file of text; more of them may follow")
	fl.StringVar(&f.tokensFile, "tokens-file", "", "file of token ids instead, one sequence a line")
	fl.IntVar(&f.batch, "batch", 512, "tokens of a batch: rows of an expert are counted over so many")
	fl.IntVar(&f.tiers, "tiers", 4, "most tiers of rows")
	fl.IntVar(&f.multiple, "multiple", 0, "choose tiers that are multiples of this (default: 1, or what leaves 512 sizes)")
	fl.StringSliceVar(&f.rows, "row-tiers", nil, "tiers of rows, instead of choosing them")
	fl.StringSliceVar(&f.groups, "groups", []string{"1", "4"}, "experts that a launch may take; 1 is always among them")
	fl.BoolVar(&f.onHost, "on-host", true, "run experts that do not repay a launch on the host")
	fl.BoolVar(&f.drop, "drop", false, "leave out rows beyond the largest tier, those of the lowest weights: results are then not exact")
	fl.Float64Var(&f.threshold, "drift-threshold", 0, "drift of live routing, 0 to 1, above which run warns (default: for each layer a quarter more than this text's batches)")
	for _, c := range []struct{ name, what string }{
		{"launch-us", "of a launch"}, {"body-us", "of an expert in a launch"}, {"row-us", "of a row of a launch"},
		{"host-expert-us", "of an expert on the host"}, {"host-row-us", "of a row on the host"},
	} {
		f.cost[c.name] = fl.Float64(c.name, -1, "microseconds "+c.what+" (default: measured or assumed)")
	}
	f.calibrateRunning(fl, a)
	fl.StringVarP(&f.output, "output", "o", "", "write the calibration to this file (default PACKAGE/"+calibrate.Name+")")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object: what the file has")
	return cmd
}

func (f *calibrateFlags) calibrateRunning(fl *pflag.FlagSet, a *App) {
	fl.StringVar(&f.backend, "backend", "host", "device whose launches are measured; the text runs on the host")
	fl.StringVar(&f.memory, "memory", "", "most resident memory of the process, such as 900MiB")
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default: one a processor)")
	fl.IntVar(&f.group, "group", 0, "experts a read, and so a call (default: about 32 MiB, as run has it)")
	f.reading(fl, a)
}

// wish is what the flags ask for, the cost apart.
func (f *calibrateFlags) wish() (w calibrate.Wish, err error) {
	if f.batch < 1 || f.batch > 1<<16 {
		return w, usagef("--batch=%d: want 1 to %d tokens", f.batch, 1<<16)
	}
	if f.tiers < 1 || f.tiers > 64 {
		return w, usagef("--tiers=%d: want 1 to 64", f.tiers)
	}
	if f.multiple < 0 || f.multiple > 1<<16 {
		return w, usagef("--multiple=%d: want 0 (chosen) to %d", f.multiple, 1<<16)
	}
	if !(f.threshold >= 0 && f.threshold <= 1) {
		return w, usagef("--drift-threshold=%v: want 0 to 1", f.threshold)
	}
	w = calibrate.Wish{Tiers: f.tiers, Multiple: f.multiple, Host: f.onHost, Drop: f.drop, Threshold: f.threshold}
	if w.Rows, err = numbers("row-tiers", f.rows, 1, 1<<16); err != nil {
		return w, err
	}
	if w.Groups, err = numbers("groups", f.groups, 1, 64); err != nil {
		return w, err
	}
	w.Groups = append(w.Groups, 1)
	for _, list := range []*[]int{&w.Rows, &w.Groups} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for name, us := range f.cost {
		if *us < 0 && *us != -1 || !(*us <= 1e9) {
			return w, usagef("--%s=%v: want 0 to 1e9", name, *us)
		}
	}
	return w, nil
}

func (a *App) calibrate(ctx context.Context, f calibrateFlags, args []string) error {
	w, err := f.wish()
	if err != nil {
		return err
	}
	if len(f.text) == 0 && (f.tokensFile == "" || len(args) > 1) || len(f.text) > 0 && f.tokensFile != "" {
		return usagef("give texts with --text, or ids with --tokens-file")
	}
	dir := args[0]
	f.text = append(f.text, args[1:]...)
	out, err := newCalibrationFile(ctx, f.output, dir, append(f.text, f.tokensFile)...)
	if err != nil {
		return err
	}
	defer out.discard()
	counter, timing, err := a.newCounter(dir, f)
	if err != nil {
		return err
	}
	text, err := a.sequences(ctx, dir, f)
	if err != nil {
		return err
	}
	if timing != nil { // first: what the device cannot do is known before all of the text is run
		if err := a.measureLaunches(ctx, dir, f, w, text, timing); err != nil {
			return err
		}
	}
	call, countErr := a.countRoutes(ctx, dir, f, text, counter)
	if countErr != nil && (ctx.Err() == nil || counter.Batches() == 0) {
		return countErr
	}
	w.Call = call
	if w.Cost, w.CostFrom, err = a.cost(dir, f, timing); err != nil {
		return err
	}
	id, err := calibrate.Identity(dir)
	if err != nil {
		return err
	}
	c, err := counter.Plan(id, w)
	if err != nil {
		return err
	}
	c.Interrupted = countErr != nil
	if err := a.tellCalibration(c, dir, f, out); err != nil {
		return err
	}
	return countErr
}

// newCalibrationFile begins the file that a calibration is written to: the package's
// own, or one outside of it.
func newCalibrationFile(ctx context.Context, named, dir string, texts ...string) (*output, error) {
	if named != "" {
		return newOutput(ctx, "output", named, append(texts, dir)...)
	}
	path := filepath.Join(dir, calibrate.Name)
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file: remove it, or name another place with -o", path)
	}
	if _, err := os.Stat(filepath.Join(dir, layout.ManifestName)); err != nil {
		return nil, fmt.Errorf("%s is no package: %w", dir, err)
	}
	if err := calibrate.Sweep(dir); err != nil {
		return nil, unwritten("output", path, err)
	}
	return beginOutput(ctx, "output", path)
}

// newCounter returns what counts the routes of a package, and, where a device is
// to be measured, what measures the host.
func (a *App) newCounter(dir string, f calibrateFlags) (*calibrate.Counter, *calibrate.Timing, error) {
	module, _, err := a.stored(dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := calibrate.NewCounter(module, f.batch)
	if err != nil || f.backend == "host" {
		return c, nil, err
	}
	t := new(calibrate.Timing)
	c.TimeHost(t)
	return c, t, nil
}

// stored returns a package's module as it is stored, and its manifest.
func (a *App) stored(dir string) (*ir.Module, *layout.Manifest, error) {
	pkg, err := layout.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	ops, err := ir.Core(a.Ops...)
	if err != nil {
		return nil, nil, err
	}
	m, err := ir.Parse(pkg.Manifest.Module, ops)
	if err != nil {
		return nil, nil, fmt.Errorf("package %s: module: %w", dir, err)
	}
	return m, pkg.Manifest, nil
}
