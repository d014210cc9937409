package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/tools/diff"
	"estream/tools/pack"
	"estream/tools/weights"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	only           []string
	tolerance      float64
	prompt, tokens string
	memory         string
	workers        int
	each, asJSON   bool
}

func (a *App) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Show what differs between two packages, checkpoints or graphs",
		Long: `Diff compares two models: packages, checkpoints, or files of IR text. It shows what
differs in config.json, in the graphs, and in the weights, tensor by tensor under the
family's names: so a GGUF file and a folder of safetensors of one model compare, and
a package compares with the checkpoint that it was made from. With --prompt or
--tokens it runs two packages, one after the other, and compares their logits.

Of a tensor it shows how many elements differ, the largest difference, and the
relative error, which is the root of the differences' squares over that of A's. A
tensor whose elements are within --tolerance times A's largest is the same. Where
things lie in a file, and where it came from, is not compared.

A model may be larger than memory: weights are compared a few rows at a time.

Exit codes: 0 the same, 1 they differ, 2 trouble: wrong usage, or something that
cannot be read. Other commands end with 1 then; here, as in diff and cmp, who asks
whether two models are the same must not take a missing file for a difference.`,
		Example: `  estream diff olmoe-w8.estream olmoe-w4.estream
  estream diff --only weights --each OLMoE-1B-7B-0924 olmoe-w8.estream
  estream diff --prompt "The capital of France is" olmoe-w8.estream olmoe-w4.estream
  estream diff before.txt after.txt`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), f, args[0], args[1]) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "compare these alone, of config, graphs and weights (logits if there is a prompt)")
	fl.Float64Var(&f.tolerance, "tolerance", 0, "how far off an element of a weight may be, of the tensor's largest magnitude")
	fl.StringVar(&f.prompt, "prompt", "", "compare the logits of this text at all positions")
	fl.StringVar(&f.tokens, "tokens", "", "compare the logits of these token ids, separated by commas")
	fl.StringVar(&f.memory, "memory", "", "most resident memory of the process while a package runs, such as 900MiB")
	fl.IntVar(&f.workers, "workers", 0, "tensors compared at a time (default: one a processor)")
	fl.BoolVar(&f.each, "each", false, "a line for each tensor, not for each name")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

// errDiffer is the difference that diff was asked for.
var errDiffer = errors.New("differ")

// diff tells trouble, which is a usage error to Main, from difference.
func (a *App) diff(ctx context.Context, f diffFlags, pathA, pathB string) error {
	err := a.compare(ctx, f, pathA, pathB)
	if err != nil && !errors.Is(err, errDiffer) {
		return usageError{err}
	}
	return err
}

func (a *App) compare(ctx context.Context, f diffFlags, pathA, pathB string) error {
	o, err := a.diffOptions(f, pathA, pathB)
	if err != nil {
		return err
	}
	left, err := until(ctx, func() (diff.Side, error) { return a.side(ctx, pathA) })
	if err != nil {
		return err
	}
	defer closeSide(left)
	right, err := until(ctx, func() (diff.Side, error) { return a.side(ctx, pathB) })
	if err != nil {
		return err
	}
	defer closeSide(right)
	for _, s := range []diff.Side{left, right} {
		if o.Logits != nil && s.Kind != "package" {
			return usagef("%s is no package, and only packages run: make one with estream pack", s.Path)
		}
	}
	bar := a.progress("comparing")
	o.Progress = func(done, total int64) { bar.update(4*done, 4*total) } // as f32
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(pack.Memory))        // blocks of weights become garbage fast
	r, err := until(ctx, func() (*diff.Report, error) { return diff.Run(ctx, left, right, o) })
	bar.end()
	if err != nil {
		return err
	}
	if f.asJSON {
		err = a.printJSON(r)
	} else {
		err = a.printDiff(r, f.each)
	}
	if err == nil && !r.Same {
		err = fmt.Errorf("%s and %s %w", pathA, pathB, errDiffer)
	}
	return err
}

// parts that diff compares.
func diffParts() []string { return []string{"config", "graphs", "weights"} }

func (a *App) diffOptions(f diffFlags, pathA, pathB string) (o diff.Options, err error) {
	for _, part := range f.only {
		if !slices.Contains(diffParts(), part) {
			return o, usagef("unknown --only %q: use %s", part, strings.Join(diffParts(), ", "))
		}
	}
	switch {
	case !(f.tolerance >= 0):
		return o, usagef("--tolerance=%v is no number from 0", f.tolerance)
	case f.workers < 0 || f.workers > maxFlag["threads"]:
		return o, usagef("--workers=%d: want 0 (one a processor) to %d", f.workers, maxFlag["threads"])
	case f.prompt != "" && f.tokens != "":
		return o, usagef("give one of --prompt and --tokens")
	}
	wanted := func(part string) bool { return len(f.only) == 0 || slices.Contains(f.only, part) }
	o = diff.Options{Config: wanted("config"), Graphs: wanted("graphs"), Weights: wanted("weights"), Tolerance: f.tolerance, Workers: f.workers}
	if f.prompt != "" || f.tokens != "" {
		ready := func(path string) func(context.Context) (*diff.Ready, error) {
			return func(ctx context.Context) (*diff.Ready, error) { return a.ready(ctx, f, path) }
		}
		o.Logits = &diff.Prompt{A: ready(pathA), B: ready(pathB)}
	}
	return o, nil
}

// ready opens a package and makes token ids of the prompt.
func (a *App) ready(ctx context.Context, f diffFlags, path string) (*diff.Ready, error) {
	rf := runFlags{tokens: f.tokens, memory: f.memory, once: true}
	m, err := a.open(ctx, path, rf)
	if err != nil {
		return nil, err
	}
	_, prompts, err := a.prompts(ctx, m, rf, []string{f.prompt})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), m.Close())
	}
	debug.FreeOSMemory() // what was compared before, and what opening left, is no part of the plan
	return &diff.Ready{Model: m, Tokens: prompts[0]}, nil
}

func closeSide(s diff.Side) {
	if s.Weights != nil {
		s.Weights.Close() // it was only read
	}
}

// side opens what a path leads to: a package, a checkpoint or IR text.
func (a *App) side(ctx context.Context, path string) (diff.Side, error) {
	ops, err := ir.Core(a.Ops...)
	if err != nil {
		return diff.Side{}, err
	}
	st, err := os.Stat(path)
	if err != nil {
		return diff.Side{}, err
	}
	if _, err := os.Stat(filepath.Join(path, layout.ManifestName)); st.IsDir() && err == nil {
		return a.packageSide(path, ops)
	}
	if !st.IsDir() && !a.isCheckpoint(path) {
		return graphsSide(ctx, path, ops)
	}
	return a.checkpointSide(path)
}

func (a *App) packageSide(path string, ops ir.Ops) (diff.Side, error) {
	s := diff.Side{Path: path, Kind: "package"}
	pkg, err := layout.Open(path)
	if err != nil {
		return s, err
	}
	s.Package, s.Config = pkg.Manifest, pkg.Manifest.Config
	return withWeights(s, func() (*weights.Set, error) { return weights.OpenPackage(path, ops, a.packings()) })
}

func (a *App) checkpointSide(path string) (diff.Side, error) {
	s := diff.Side{Path: path, Kind: "checkpoint"}
	c, err := checkpoint.Open(path, checkpoint.Options{}, a.Formats...)
	if err != nil {
		return s, err
	}
	if s.Config, err = c.Config(); err != nil {
		s.Config = nil // a file of weights alone
	}
	return withWeights(s, func() (*weights.Set, error) { return weights.OpenCheckpoint(c, a.Families) })
}

func withWeights(s diff.Side, open func() (*weights.Set, error)) (diff.Side, error) {
	set, err := open()
	if err == nil {
		s.Weights, s.Module = set, set.Module
	}
	return s, err
}

func graphsSide(ctx context.Context, path string, ops ir.Ops) (diff.Side, error) {
	s := diff.Side{Path: path, Kind: "graphs"}
	text, err := readFile(ctx, path, maxText)
	if err != nil {
		return s, fmt.Errorf("no package and no checkpoint: %w", err)
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return s, fmt.Errorf("%s is neither a package, nor a checkpoint, nor IR text", path)
	}
	if s.Module, err = ir.Parse(string(text), ops); err == nil && len(s.Module.Graphs) == 0 {
		err = errors.New("no graph")
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
