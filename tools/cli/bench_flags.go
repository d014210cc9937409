package cli

import (
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"estream/lower"
	"estream/lower/host"
	"estream/runtime"
	"estream/tools/bench"
)

// benchFlags are the flags of bench beside those that say how a package runs.
type benchFlags struct {
	runFlags
	models                        []string
	prompts, threadCounts, chunks []string
	gens, depths, pairs, batches  []string
	llama                         map[string]*[]string // values of those that llama-bench alone has
	repetitions                   int
	delay                         int // seconds
	format, errFormat             string
	seed                          uint64
	noWarmup, resident            bool
	bubble, profile               bool
	progress, verbose             bool
}

// llamaArgs gives llama-bench's options of one dash and several letters two dashes:
// by GNU's rules -pg would be -p with the value g.
func llamaArgs(args []string) []string {
	if len(args) == 0 || args[0] != "bench" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		short, dash := strings.CutPrefix(arg, "-")
		if dash && (slices.Contains([]string{"pg", "ub", "oe"}, short) || llamaFlag(short) != nil) {
			args[i] = "-" + arg
		}
	}
	return args
}

// llamaName gives flags that llama-bench spells otherwise their names.
func llamaName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name = strings.ReplaceAll(name, "_", "-"); name {
	case "ub", "chunk":
		name = "ubatch-size"
	case "oe":
		name = "output-err"
	}
	if f := llamaFlag(name); f != nil {
		name = f.name
	}
	return pflag.NormalizedName(name)
}

// options are those of the bench that flags say.
func (f *benchFlags) options(a *App) (o bench.Options, err error) {
	if o.Prompts, err = lengths("n-prompt", f.prompts); err != nil {
		return o, err
	}
	if len(f.threadCounts) == 0 {
		f.threadCounts = []string{fmt.Sprint(goruntime.NumCPU())}
	}
	if o.Chunks, err = numbers("ubatch-size", f.chunks, 0, maxFlag["chunk"]); err != nil {
		return o, err
	}
	if o.Threads, err = numbers("threads", f.threadCounts, 1, maxFlag["threads"]); err != nil {
		return o, err
	}
	if err := f.refuse(slices.Max(o.Prompts)); err != nil {
		return o, err
	}
	if o.Runtime, err = a.options(f.runFlags); err != nil {
		return o, err
	}
	b, err := a.choose(f.backend)
	if err != nil {
		return o, err
	}
	inside, err := qnnInside()
	if err != nil {
		return o, err
	}
	o.Packages, o.Host, o.Census = f.models, host.Options{Ops: a.HostOps}, a.census
	o.Use = func(pkg string, r *runtime.Options, h lower.Backend) {
		if b.use(r, h); r.Device == nil {
			return
		}
		f.routing = a.newRouting()
		f.routing.use(pkg, r)
		r.Inside, r.Taps, r.Tap, r.Events = inside, nil, nil, nil // whether live routing drifts is not asked
	}
	told := map[string]bool{}
	o.Opened = func(pkg string, m *runtime.Model) {
		if !told[pkg] {
			a.noteUnused(pkg, m.Unused(), m.Manifest().Artifacts, f.routing)
		}
		told[pkg] = true
	}
	o.Repetitions, o.NoWarmup, o.Delay, o.Seed = f.repetitions, f.noWarmup, time.Duration(f.delay)*time.Second, f.seed
	o.Resident, o.Bubble, o.Profile = f.resident, f.bubble, f.profile
	if !f.resident {
		o.Shape = func(pkg string, r *runtime.Options) error { return a.shape(pkg, f.runFlags, r) }
	}
	return o, nil
}

// refuse refuses what is of llama-bench and does not hold here, where the longest
// prompt has so many tokens.
func (f *benchFlags) refuse(longest int) error {
	batches, err := numbers("batch-size", f.batches, 1, math.MaxInt32)
	if err != nil {
		return err
	}
	switch {
	case len(f.pairs) > 0:
		return usagef("estream does prefill only: leave out -pg")
	case !zeros(f.gens):
		return usagef("estream does prefill only: leave out --n-gen, or give 0")
	case !zeros(f.depths):
		return usagef("a prompt begins with nothing before it: leave out --n-depth, or give 0")
	case slices.ContainsFunc(batches, func(n int) bool { return n < longest }):
		return usagef("a prompt runs as one batch, of up to %d tokens here: leave out --batch-size; --ubatch-size says how many rows of a layer's body run at a time", longest)
	case f.repetitions < 1 || f.repetitions > 1<<20:
		return usagef("--repetitions=%d: want 1 to %d", f.repetitions, 1<<20)
	case f.delay < 0 || f.delay > 1<<20:
		return usagef("--delay=%d: want 0 to %d seconds", f.delay, 1<<20)
	case f.resident && f.memory != "":
		return usagef("--resident keeps all weights in memory: leave out --memory")
	}
	return nil
}

func zeros(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return w != "0" })
}
