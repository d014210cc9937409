package cli

import (
	"cmp"
	"context"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"estream/ir"
	"estream/lower/host"
	"estream/runtime"
	"estream/tools/trace"
)

// runFlags are the flags of run, and of what else opens a package.
type runFlags struct {
	tokens, tokensFile, promptsFile, logits, output, memory, schedule string
	readers, banks, group, chunk, threads                             int
	asJSON, chat                                                      bool
	once                                                              bool   // one batch is run, and the process ends
	plan                                                              string // who picks the shape: auto or off; empty: nobody
	system                                                            string
	backend, source, readLimit, checksum, trace                       string
	tracer                                                            *trace.Writer // of trace, once it is begun; nil: none
	routing                                                           *routing      // of the package's calibration; nil: it is not looked at
	showLive                                                          bool
	live                                                              *live // once it is begun; nil: none
}

// shaping are the flags that say how a package runs.
func (f *runFlags) shaping(fl *pflag.FlagSet, a *App) {
	fl.StringVar(&f.memory, "memory", "", "most resident memory of the process, such as 900MiB (default: a small arena)")
	f.scheduling(fl)
	fl.IntVar(&f.readers, "readers", 0, "reads in flight (default 2)")
	fl.IntVar(&f.banks, "banks", 0, "groups of experts in memory (default 4, or 3 of experts above 32 MiB)")
	fl.IntVar(&f.group, "group", 0, "experts a read (default: about 32 MiB)")
	fl.IntVar(&f.chunk, "chunk", 0, "rows of a layer's body at a time (default 512)")
	f.machine(fl, a)
}

// machine are the flags that say what computes a package, and where its weights are read from.
func (f *runFlags) machine(fl *pflag.FlagSet, a *App) {
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default: one a processor)")
	fl.StringVar(&f.backend, "backend", "host", "what the graphs run on: "+strings.Join(a.backendNames(), ", "))
	f.reading(fl, a)
}

// maxFlag bounds what a machine can have of each.
var maxFlag = map[string]int{"readers": 256, "banks": 1 << 16, "group": 1 << 16, "chunk": 1 << 20, "threads": 1024}

// open opens a package as the flags say.
func (a *App) open(ctx context.Context, dir string, f runFlags) (*runtime.Model, error) {
	o, err := a.prepare(f)
	if err == nil {
		err = a.shape(dir, f, &o)
	}
	if err != nil {
		return nil, err
	}
	f.routing.use(dir, &o)
	m, err := opened(ctx, dir, o)
	if err == nil {
		a.noteUnused(dir, m.Unused(), m.Manifest().Artifacts, f.routing)
	}
	return m, err
}

// opened is runtime.Open, with remedies in its errors that can be typed.
func opened(ctx context.Context, dir string, o runtime.Options) (*runtime.Model, error) {
	m, err := runtime.Open(ctx, dir, o)
	return m, withFolder(err, dir)
}

// prepare prepares the process to run packages as the flags say.
func (a *App) prepare(f runFlags) (o runtime.Options, err error) {
	if o, err = a.options(f); err != nil {
		return o, err
	}
	h := host.Options{Threads: o.Threads, Ops: a.HostOps}
	if f.tracer != nil {
		h.Trace, o.Trace, o.Events = f.tracer.Op, f.tracer.Pager, f.tracer.Event
	}
	f.live.watch(&o)
	b, err := a.choose(cmp.Or(f.backend, "host"))
	if err != nil {
		return o, err
	}
	b.use(&o, host.New(h))
	if o.Device != nil {
		if o.Inside, err = qnnInside(); err != nil {
			return o, err
		}
	}
	debug.SetGCPercent(25)                                 // garbage is no part of a memory plan
	goruntime.GOMAXPROCS(o.Threads + cmp.Or(o.Readers, 2)) // readers have processors of their own
	return o, nil
}

// options are those of the runtime that flags say, the host backend apart.
func (a *App) options(f runFlags) (o runtime.Options, err error) {
	for name, n := range map[string]int{"readers": f.readers, "banks": f.banks, "group": f.group, "chunk": f.chunk, "threads": f.threads} {
		if n < 0 || n > maxFlag[name] {
			return o, usagef("--%s=%d: want 0 (chosen) to %d", name, n, maxFlag[name])
		}
	}
	o = runtime.Options{Readers: f.readers, Banks: f.banks, Group: f.group, Chunk: f.chunk, Threads: cmp.Or(f.threads, goruntime.NumCPU()), Packings: a.foreign(), Once: f.once}
	if f.memory != "" {
		if o.Memory, err = parseSize(f.memory); err != nil {
			return o, err
		}
		if _, err := strconv.ParseFloat(f.memory, 64); err == nil && o.Memory < 1<<20 {
			return o, usagef("--memory: %d bytes is too little: did you mean %sMiB?", o.Memory, f.memory)
		}
	}
	if o.Schedule, err = parseSchedule(f.schedule); err != nil {
		return o, err
	}
	if err := a.read(&o, f); err != nil {
		return o, err
	}
	o.Ops, err = ir.Core(a.Ops...)
	return o, err
}
