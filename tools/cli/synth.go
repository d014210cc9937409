package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"estream/tools/pack"
	"estream/tools/synth"
)

// synthFlags are the flags of synth beside those of pack.
type synthFlags struct {
	config     string // the file
	named      string // as the flag has it
	seed       uint64
	checkpoint bool
	dryRun     bool
	html       string
	asJSON     bool
}

func (a *App) synthCommand() *cobra.Command {
	var f synthFlags
	var o pack.Options
	var encoding string
	var kinds [4]string
	cmd := &cobra.Command{
		Use:   "synth [flags] --config CONFIG PACKAGE",
		Short: "Make a model of random weights from a config.json alone",
		Long: `Synth makes a package of the full size of the model that a config.json describes,
with random weights, so that speed and memory can be measured without a download.
Its weights are made as they are packed, as fast as the disk takes them: a few
matrices are made for the experts, and which of them an expert has is random.
Activations stay finite and all experts are reached, but what the model says is
noise. The same config.json, seed and encoding give the same package, and an
interrupted run goes on where it was.

With --checkpoint it makes a folder of safetensors in bf16 instead, in shards of
4 GB, to try conversion on. With --dry-run it writes nothing and prints the model's
parameters and how large the package and each kind of weight in it would be; with
--html as well, the page that inspect --html would write of the package.

Encodings:
` + encodingTable(),
		Example: `  estream synth --config OLMoE-1B-7B-0924/config.json olmoe-random.estream
  estream run --tokens 1,2,3 --memory 900MiB olmoe-random.estream
  estream synth --config config.json --encoding w8 --seed 7 random.estream
  estream synth --checkpoint --config config.json random-checkpoint
  estream synth --dry-run --config Qwen3-30B-A3B/config.json
  estream synth --dry-run --html qwen3.html --config Qwen3-30B-A3B/config.json`,
	}
	cmd.Args = args(func(cmd *cobra.Command, args []string) error {
		if f.dryRun {
			return cobra.MaximumNArgs(1)(cmd, args)
		}
		return cobra.ExactArgs(1)(cmd, args)
	})
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "config.json of the model, or the folder it is in (required)")
	fl.Uint64Var(&f.seed, "seed", 1, "what the random weights follow from")
	fl.BoolVar(&f.checkpoint, "checkpoint", false, "make a checkpoint instead of a package")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what would be written, and write nothing")
	fl.StringVar(&f.html, "html", "", "with --dry-run: write a page to look at into this file")
	fl.StringVar(&encoding, "encoding", pack.Encodings[0].Name, "what weights become")
	for i, k := range weightKinds() {
		fl.StringVar(&kinds[i], k, "", "what "+k+" weights become instead: exact (bf16), f32, bf16, w8, w4g32, ...")
	}
	fl.StringVar(&o.Backend, "backend", "host", "whose programs will run it: "+strings.Join(a.backendNames(), ", "))
	fl.Int64Var(&o.Align, "align", 0, "alignment of records in bytes, a power of two (default 16384)")
	fl.IntVar(&o.Workers, "workers", 0, "records made at a time (default: two a processor)")
	fl.BoolVar(&o.Restart, "restart", false, "discard what an interrupted run left, instead of going on with it")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if f.config == "" {
			return usagef("--config is missing: usage: %s", cmd.UseLine())
		}
		f.named = f.config
		if isFolder(f.config) {
			f.config = filepath.Join(f.config, "config.json")
		}
		if f.html != "" && !f.dryRun {
			return usagef("--html is of --dry-run: of a package, estream inspect --html writes it")
		}
		if f.checkpoint {
			for _, name := range append(weightKinds(), "dry-run", "encoding", "backend", "align", "workers", "restart") {
				if fl.Changed(name) {
					return usagef("--%s is of packages, not of --checkpoint", name)
				}
			}
			return a.synthCheckpoint(cmd.Context(), f, args[0])
		}
		if o.Encoding, err = packEncoding(encoding, kinds); err != nil {
			return err
		}
		if f.dryRun {
			return a.synthPlan(cmd.Context(), f, o)
		}
		return a.synthPackage(cmd.Context(), f, o, args[0])
	}
	return cmd
}

// weightKinds are the flags that give one kind of weight an encoding of its own.
func weightKinds() []string { return []string{"experts", "attention", "head", "embed"} }

func (a *App) synthPackage(ctx context.Context, f synthFlags, o pack.Options, dir string) error {
	if err := a.packFor(&o); err != nil {
		return err
	}
	report, err := a.convert(ctx, "making", &o, func() (*pack.Report, error) { return synth.Package(ctx, f.config, dir, f.seed, o) })
	if err != nil {
		return err
	}
	rate := (1 - report.Kept) * float64(report.Written) / report.Elapsed.Seconds()
	if f.asJSON {
		fields := reportJSON(report, map[string]any{"package": dir, "encoding": o.Encoding.Name, "seed": f.seed})
		fields["bytes_per_s"] = rate // nothing is read
		return a.printJSON(fields)
	}
	fmt.Fprintf(a.Stdout, "%s: %s of random weights as %s, %s in %.1f s (%s/s), peak memory %s\n", dir, report.Family, o.Encoding.Name,
		formatSize(report.Written), report.Elapsed.Seconds(), formatSize(int64(rate)), formatSize(report.Peak))
	return nil
}

// synthPlan prints what synthPackage would write.
func (a *App) synthPlan(ctx context.Context, f synthFlags, o pack.Options) error {
	if err := errors.Join(checkSizes(o), a.packFor(&o)); err != nil {
		return err
	}
	plan, err := until(ctx, func() (*pack.Forecast, error) { return synth.Plan(ctx, f.config, f.seed, o) })
	if err != nil {
		return err
	}
	var total int64
	for _, f := range plan.Files {
		total += f.Size
	}
	if f.html != "" {
		if err := a.plannedHTML(ctx, plan, f); err != nil {
			return err
		}
	}
	if f.asJSON {
		return a.printJSON(censusJSON(&plan.Census, map[string]any{
			"family": plan.Family, "layers": plan.Layers, "encoding": o.Encoding.Name, "policy": keyValuesJSON(plan.Policy), "notes": plan.Notes,
			"files": filesJSON(plan.Files), "total_bytes": total,
		}))
	}
	for _, n := range plan.Notes {
		a.note("note: %s", n)
	}
	fmt.Fprintf(a.Stdout, "family    %s, %d layers, as %s\n", plan.Family, plan.Layers, o.Encoding.Name)
	a.printCensus(&plan.Census)
	a.printFiles(plan.Files)
	fmt.Fprintf(a.Stdout, "total     %-22s %s\n", fmt.Sprintf("%d files", len(plan.Files)), formatSize(total))
	return nil
}

func (a *App) synthCheckpoint(ctx context.Context, f synthFlags, dir string) error {
	bar := a.progress("writing")
	report, err := synth.Checkpoint(ctx, f.config, dir, synth.CheckpointOptions{Seed: f.seed, Families: a.Families, Progress: bar.update})
	bar.end()
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(map[string]any{
			"checkpoint": dir, "seed": f.seed, "tensors": report.Tensors, "shards": report.Shards, "written_bytes": report.Written, "elapsed_s": report.Elapsed.Seconds(),
		})
	}
	fmt.Fprintf(a.Stdout, "%s: %d random tensors in %d files, %s in %.1f s (%s/s)\n", dir, report.Tensors, report.Shards,
		formatSize(report.Written), report.Elapsed.Seconds(), formatSize(int64(float64(report.Written)/report.Elapsed.Seconds())))
	return nil
}
