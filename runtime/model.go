// Package runtime executes a lowered package: prompts in, logits out, experts
// paged from flash through a fixed arena. It knows graphs, states, records and
// routes; it knows no model family.
//
// A batch is run layer by layer: a layer's dense record is read once, its body
// runs over all tokens in row chunks, the routes say which experts have rows,
// and the experts' records pass through the arena's banks while the ones before
// them compute. So memory is bounded by the arena and the batch, not by the
// model, and each record is read at most once a batch, dropped guesses apart.
//
// Stable for callers: Open, Options, Model, Batch, Result, Stats, Plan and the
// errors named here, and of other packages pager.Schedule with its constants and
// pager.Stats. The interfaces that Options takes from lower, passes and pager, for
// backends, devices and sources of one's own, may still change.
//
// Memory: everything a Model allocates for a run is off the Go heap, belongs to
// the Model and is freed by Close. Slices of a Result are the caller's.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/pager"
	"estream/pager/layout"
	"estream/passes"
)

// Options says how to run a package. The zero Options is right for most uses.
type Options struct {
	// Memory bounds the resident bytes of the process while it runs, all
	// included. Part of it is set aside for garbage, as much as GOGC makes the
	// heap grow by and one MiB: 2 MiB at 25, 5 MiB at 100. What the batch leaves of it keeps weights in memory from run to
	// run, unless Once. 0: the least good arena, and whole batches where they fit.
	Memory int64
	Once   bool // no weights are kept for a later run, whatever Memory: filling that memory makes the first run slower

	Schedule pager.Schedule // when reads may begin; Auto: Guessed for prompts that touch few experts (AfterRouting in one bank), else BeforeRouting
	Checksum pager.Policy   // which records are compared with their checksums
	Readers  int            // reads in flight (Q); 0: chosen
	Banks    int            // groups of experts in memory (B); 0: chosen
	Group    int            // experts a read (G); 0: chosen
	Chunk    int            // rows of a body at a time; 0: chosen
	Threads  int            // computing; 0: GOMAXPROCS

	// Choose, where none of Readers, Banks and Group is given, picks the plan of each
	// batch, such as a planner.Profile does; as gives the plan of a shape, or an error
	// where it does not fit. It may not call Plan, PlanAs, Run or Close of the model.
	Choose func(m *Model, as func(Shape) (Plan, error)) (Plan, error)

	Host   lower.Backend // nil: the embedded host backend
	Device Device        // nil: everything runs on Host
	Inside bool          // layers' graphs on the device, experts' apart, have their weights inside, in as many layers as Memory holds (0: all), instead of bound at each run
	Ops    ir.Ops        // that packages may use; nil: the core ops

	// Packings are those that packages may have beside the backends' own; the
	// host reads them too, more slowly.
	Packings []lower.Packing

	// Source opens a weight file; nil: pager.OpenFile.
	Source func(path string) (pager.Source, error)

	Trace  func(pager.Event) // is told of each read, wait and drop; see pager.Config
	Events func(Event)       // is told of what a run did, right after it, by the goroutine of Run

	// Taps names values whose contents Tap is given after each layer: any name
	// of the package's graphs outside experts' bodies, "y" for a layer's output.
	Taps []string
	Tap  func(Tap)
}

// Bounds of numbers that people give.
const (
	maxReaders = 256
	maxThreads = 1024
	maxLayers  = 4096
)

func (o Options) check() error {
	for _, n := range []struct {
		name        string
		value, most int
	}{
		{"readers", o.Readers, maxReaders}, {"threads", o.Threads, maxThreads},
		{"banks", o.Banks, math.MaxInt}, {"group", o.Group, math.MaxInt}, {"chunk", o.Chunk, math.MaxInt},
	} {
		if n.value < 0 || n.value > n.most {
			return fmt.Errorf("options: %d %s, want 0 (chosen) to %d", n.value, n.name, n.most)
		}
	}
	if o.Memory < 0 || o.Schedule > pager.Guessed {
		return fmt.Errorf("options: memory %d, schedule %v: no such thing", o.Memory, o.Schedule)
	}
	if o.Checksum > pager.Off {
		return fmt.Errorf("options: checksum %v: no such thing", o.Checksum)
	}
	return nil
}

// A Device is the backend of an accelerator that runs what it can of a package,
// such as static.New makes.
type Device interface {
	lower.Backend
	Target(host lower.Backend) passes.Target // what modules are legalized for
}

// A Tap is one value over all tokens of a batch.
type Tap struct {
	Layer  int // -1 for the embeddings, the number of layers for the head
	Name   string
	Buffer lower.Buffer // valid until Tap returns
}

var (
	// ErrMemory is wrapped by the error of a run that does not fit Options.Memory.
	ErrMemory = errors.New("memory budget too small")
	// ErrClosed is what a closed Model returns.
	ErrClosed = errors.New("model is closed")
)

// A Model is an open package. Runs of one Model take turns.
type Model struct {
	pkg     *layout.Package
	opt     Options
	module  *ir.Module
	host    lower.Compiled
	device  lower.Compiled // nil: none
	classes map[string]*class
	layers  []*class // the class of each layer
	embed   *phase
	norm    *phase
	proj    *phase
	region  layout.Region // the embedding table
	hidden  int
	vocab   int
	headers headRuns
	stages  []pager.Stage
	experts pager.Source
	dense   pager.Source
	checks  *pager.Checks
	loaded  *layout.Artifact // that the device's programs are from; nil: they were compiled
	unused  *Unused

	turn    chan struct{} // full while a Run, Plan or Close is under way, which alone uses what follows
	mem     memories
	pins    pins
	inside  inside
	routers routers
	program int64         // resident bytes of the process that are not the model's
	opened  int64         // resident bytes of the process at their most, where opening the model's device made it so; 0: not so
	last    Plan          // of the run before
	compare map[int]taken // on a device, of the first PlanAs of so many tokens
	closed  bool
}

// Open opens the package in a folder: everything about it is checked before any
// weight is read. Errors name the file, the thing and the remedy.
func Open(ctx context.Context, dir string, opt Options) (_ *Model, err error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	pkg, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{pkg: pkg, opt: opt, turn: make(chan struct{}, 1), compare: map[int]taken{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if m.opt.Host == nil {
		m.opt.Host = host.New(host.Options{Threads: opt.Threads})
	}
	before := PeakBytes()
	if err := m.load(ctx); err != nil {
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	if after := PeakBytes(); m.device != nil && after > before {
		m.opened = after
	}
	return m, nil
}

// load parses, checks and compiles the module, and opens the weight files.
func (m *Model) load(ctx context.Context) error {
	packing, err := m.packing()
	if err != nil {
		return err
	}
	if err := m.parse(); err != nil {
		return err
	}
	records, err := passes.Records(m.module, packing)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := m.tap(); err != nil {
		return err
	}
	target, err := m.target()
	if err != nil {
		return err
	}
	if err := passes.Run(m.module, passes.Open(target), nil); err != nil {
		return err
	}
	if m.host, err = m.opt.Host.Compile(ctx, m.module, packing); err != nil {
		return err
	}
	if m.opt.Device != nil {
		if m.device, err = m.compileDevice(ctx, packing, target.Tiers); err != nil {
			return err
		}
	}
	if err := m.bind(records, packing); err != nil {
		return err
	}
	if m.experts, err = m.source(layout.ExpertsName); err != nil {
		return err
	}
	if m.dense, err = m.source(layout.DenseName); err != nil {
		return err
	}
	m.findRouters()
	m.checks = pager.NewChecks(m.opt.Checksum, m.dense.Size(), m.experts.Size(), m.pkg.Manifest.Align)
	return m.putInside(ctx)
}

// packing finds the package's packing among those of the backends.
func (m *Model) packing() (lower.Packing, error) {
	var known []string
	all := slices.Concat(m.opt.Host.Packings(), m.opt.Packings)
	if m.opt.Device != nil {
		all = slices.Concat(m.opt.Device.Packings(), all)
	}
	for _, p := range all {
		if p.Name == m.pkg.Manifest.Packing {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return lower.Packing{}, fmt.Errorf("packed for %q, which no backend here reads (they read %q): pack the checkpoint again", m.pkg.Manifest.Packing, known)
}

func (m *Model) parse() (err error) {
	ops := m.opt.Ops
	if ops == nil {
		if ops, err = ir.Core(); err != nil {
			return err
		}
	}
	for _, name := range m.pkg.Manifest.Ops {
		if ops[name] == nil {
			return fmt.Errorf("needs the operator %q, which this program lacks: use one built with the plug-in that declares it", name)
		}
	}
	if m.module, err = ir.Parse(m.pkg.Manifest.Module, ops); err != nil {
		return err
	}
	if n := len(m.module.Layers); n == 0 || n > maxLayers {
		return fmt.Errorf("module: %d layers, want 1 to %d", n, maxLayers)
	}
	return m.module.Verify()
}

// tap makes the tapped values outputs of the graphs that compute them.
func (m *Model) tap() error {
	callees := m.module.Callees()
	for _, name := range m.opt.Taps {
		found := false
		for _, g := range m.module.Graphs {
			v := g.Value(name)
			if v == nil || v.Op == ir.Input || v.Op == ir.Weight || slices.Contains(callees, g) || strings.HasSuffix(g.Name, "."+passes.EarlyPhase) {
				continue
			}
			if found = true; !slices.Contains(g.Outputs, v) {
				g.Outputs = append(g.Outputs, v)
			}
		}
		if !found {
			return fmt.Errorf("tap %q: no graph of the package computes a value of that name", name)
		}
	}
	return nil
}

func (m *Model) source(name string) (pager.Source, error) {
	if m.opt.Source != nil {
		return m.opt.Source(m.pkg.Path(name))
	}
	f, err := pager.OpenFile(m.pkg.Path(name))
	if err != nil {
		return nil, err // not f, which is a nil pointer in an interface that is not nil
	}
	return f, nil
}

// Manifest returns what the package says of itself. It is not to be changed.
func (m *Model) Manifest() *layout.Manifest { return m.pkg.Manifest }

// Module returns the legalized module. It is not to be changed.
func (m *Model) Module() *ir.Module { return m.module }

// Vocab returns the number of logits a position has.
func (m *Model) Vocab() int { return m.vocab }

// Companion returns the contents of a file that the package keeps beside its
// weights, such as tokenizer.json, checked; fs.ErrNotExist where it has none.
func (m *Model) Companion(name string) ([]byte, error) {
	data, err := m.pkg.Companion(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("package %s: %w", m.pkg.Dir, err)
	}
	return data, err
}

// Path is where the package's file of that name lies.
func (m *Model) Path(name string) string { return m.pkg.Path(name) }

// Notes tells what the user should know of how the package's files are read.
func (m *Model) Notes() []string {
	var out []string
	for _, s := range []pager.Source{m.experts, m.dense} {
		if note := pager.Note(s); note != "" {
			out = append(out, note)
		}
	}
	return out
}

// Close waits for a run that is under way and frees what the model holds. What is
// called afterwards returns ErrClosed, a second Close nothing.
func (m *Model) Close() error {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.closed {
		return nil
	}
	m.closed = true
	errs := []error{m.mem.free(), m.pins.free(), m.inside.close(), m.routers.free()}
	for _, s := range []pager.Source{m.experts, m.dense} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	for _, c := range []lower.Compiled{m.device, m.host} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
