// Package qnn runs graphs on Qualcomm's QNN libraries: a static.Device for the
// reference library on the CPU, in single precision, and for the one of HTP, the
// neural processor, in half precision, which computers without one emulate.
//
// A graph becomes plain data, native.Desc, by a table of operators, and a library
// makes it executable. Weights are not part of it: they are inputs, bound by
// address for each run, so that one graph serves every layer and every expert.
//
// Invariants:
//
//	Q1 what a graph becomes depends on the graph and the target alone
//	Q2 a matrix is read where it lies, in Packing; positions, factors and bf16 numbers are made ready by the host for each run
//	Q3 the library is given no buffer of another size than its tensor's, and no memory but the device's
//	Q4 numbers between nodes are the target's: inputs are cast to it, outputs to f32
//
// Memory: a Device owns a backend of its library, from when it is first needed to
// Close, or to the end of the process. Executables that are made together own a
// context, which the last of them frees, and each a small memory for what the host
// makes ready.
package qnn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/native"
	"estream/lower/static"
)

// Options are how a target is opened.
type Options struct {
	Folder string // with the vendor's libraries; "": where find.System.SearchFor finds the one that is opened
	SoC    string // of HTP: for which chip graphs are made, as ParseSoC reads it; "": this computer's, or SM8750 where HTP is emulated
	Whole  bool   // of HTP: w8 is multiplied by rows of 16 bits in whole numbers (a16w8), not in half precision

	// Share makes memory that HTP maps too; nil: the library of the device's system
	// does, where there is one.
	Share func(bytes int64) (*native.Region, error)

	// Child prepares what graphs a module has, so that a crash of the library is an
	// error and what it prints is in nobody's way. Without a Command this process does.
	Child native.Child
}

// A Device implements static.Device. Its library is looked for when it is first
// needed, not for what a package is packed for.
type Device struct {
	*target
	options Options

	mu      sync.Mutex // guards what follows
	place   place
	backend *native.Backend // nil: not opened
	thread  *thread         // that calls HTP's library while it is open
	room    *room           // of the graphs that Compile makes; nil: none
	made    int             // graphs, for names
	asked   bool            // whether share is known
	share   func(bytes int64) (*native.Region, error)
	spots   map[spot]*native.Memory // in regions, that contexts know
}

// A room is a context and how many executables of it there are.
type room struct {
	context *native.Context
	live    int
}

// CPU is qnn-cpu: libQnnCpu.so, in f32.
func CPU(o Options) *Device { return &Device{target: cpu, options: o} }

// HTP is qnn-htp: libQnnHtp.so, in f16.
func HTP(o Options) *Device {
	t := *htp
	t.whole = o.Whole
	return &Device{target: &t, options: o}
}

// Open opens and starts the library, if it is not, and tells why that cannot be.
func (d *Device) Open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}

func (d *Device) open() error {
	if d.backend != nil {
		return nil
	}
	at, err := d.find()
	if err != nil {
		return err
	}
	t := newThread()
	err = t.do(func() error {
		l, err := native.Open(at.library)
		if err == nil {
			d.backend, err = l.Start(native.Options{SoC: at.soc.Model})
		}
		return err
	})
	if err != nil {
		t.end()
		d.backend = nil
		return err
	}
	d.place, d.thread = at, t
	return nil
}

// Patience implements static.Lazy. The reference library takes up to twice a graph's
// weights when it first runs; HTP's takes little, and its emulation is slow.
func (d *Device) Patience() time.Duration {
	if d.half() {
		return 2 * time.Second
	}
	return 10 * time.Second
}

// Close stops the library, which stays loaded. Executables and memories come first.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, t := d.backend, d.thread
	d.backend, d.thread = nil, nil
	if b == nil {
		return nil
	}
	defer t.end()
	return t.do(b.Close)
}

// Name implements static.Device.
func (d *Device) Name() string { return d.name }

// Supports implements static.Device.
func (d *Device) Supports(v *ir.Value) error {
	if err := supports(v); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}

// Packings implements static.Device.
func (d *Device) Packings() []lower.Packing { return []lower.Packing{Packing()} }

// Ops lists the operators that the device runs, of some types at least, by name.
func (d *Device) Ops() []*ir.Op {
	return slices.SortedFunc(maps.Keys(rows), func(a, b *ir.Op) int { return cmp.Compare(a.Name, b.Name) })
}

// Compile implements static.Device. No child prepares the graph: see Prepare.
func (d *Device) Compile(ctx context.Context, g *ir.Graph, p lower.Packing) (static.Executable, error) {
	if err := d.check(g, p); err != nil {
		return nil, fmt.Errorf("%s: graph %s: %w", d.name, g.Name, err)
	}
	low, err := d.lower(g)
	if err != nil {
		return nil, fmt.Errorf("%s: graph %s: %w", d.name, g.Name, err)
	}
	tell(ctx, Step{Device: d.name, Doing: Compiling, Graph: g.Name})
	defer tell(ctx, Step{})
	made, room, err := d.build(low.desc)
	if err != nil {
		return nil, fmt.Errorf("%s: graph %s: %w", d.name, g.Name, err)
	}
	e, err := d.executable(g, low, made, room)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: graph %s: %w", d.name, g.Name, err), e.Close())
	}
	return e, nil
}

// check reports a graph or packing that is not for this device.
func (d *Device) check(g *ir.Graph, p lower.Packing) error {
	if err := g.Verify(); err != nil {
		return err
	}
	for _, v := range g.Values {
		if slices.ContainsFunc(v.Type.Dims, func(e ir.Dim) bool { return e.Sym != "" }) {
			return fmt.Errorf("%s: %s has an extent that is no number: bind it to a tier: %w", v.Label(), v.Type, lower.ErrUnsupported)
		}
		if v.Op == ir.Weight && lower.IsMatrix(g, v) && p.Name != Packing().Name {
			return &packedForOther{v, p.Name, d.name}
		}
	}
	return nil
}

// build makes a graph of the context that graphs made one by one share.
func (d *Device) build(desc *native.Desc) (*native.Graph, *room, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return nil, nil, err
	}
	d.made++
	named := *desc
	named.Name = fmt.Sprintf("%s.%d", desc.Name, d.made)
	var g *native.Graph
	err := d.thread.do(func() (err error) {
		if d.room == nil {
			c, err := d.backend.NewContext()
			if err != nil {
				return err
			}
			d.room = &room{context: c}
		}
		d.room.live++
		g, err = d.room.context.Build(&named, native.GraphOptions{})
		return err
	})
	if err != nil && d.room != nil {
		err = errors.Join(err, d.leave(d.room))
	}
	return g, d.room, err
}

// release ends an executable's part of its context, which goes with the last.
func (d *Device) release(r *room) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leave(r)
}

func (d *Device) leave(r *room) error {
	if r.live--; r.live > 0 {
		return nil
	}
	if d.room == r {
		d.room = nil
	}
	forgotten := d.forget(func(s spot) bool { return s.room == r })
	return errors.Join(forgotten, d.thread.do(r.context.Close))
}
