// Package static makes a lower.Backend of a device that runs only graphs whose
// extents are numbers. A caller makes the ragged calls that every backend takes;
// this package cuts them into tiers, the sizes that the device has graphs for.
//
// A graph G of the module is the signature of its program; bind-dims has added
// one graph a tier, named "G@T8,S16" or "G@R4". A graph with a growing state runs
// one sequence a call, in chunks of at most the largest T; its positions, its
// mask and its past rows are made here. So does one with a convolution's window,
// whose rows are past rows too. Any other graph runs over all rows in
// chunks.
//
// The experts of a call are spread over launches (passes.Tiers.Spread): one each,
// several in a launch of "G@R4,G2", more than one launch where rows outnumber the
// largest R, or on the host, as a Policy says.
//
// Invariants:
//
//	S1 every byte that the device reads is written before each of its runs: real rows, then zeros
//	S2 what the device computes for padded rows is not read
//	S3 a call that cannot be run wholly, by its sizes or tiers, changes nothing
//	S4 rows are added to y, and to a state, in ascending order, experts in the order of the group
//	S5 the device is given memory of its own only: the working memory of a Compiled, and the call's weights
//
// Memory: a Compiled allocates one working memory of the device, as large as its
// largest tier needs, and frees it in Close; its programs share it, and so run
// one at a time. Where a Policy has a host, that keeps working memory of its own. Buffers of a call, weights apart, may be of any Mem: they are
// copied by the host.
package static

import (
	"context"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// A Device compiles and runs graphs whose extents are numbers. Its methods are
// safe for concurrent use.
type Device interface {
	Name() string

	// Supports and Packings are those of lower.Backend. A value's extents may
	// be symbols: the tiers are not known yet.
	Supports(v *ir.Value) error
	Packings() []lower.Packing

	// Compile makes g, whose extents are numbers, runnable. Matrices come in
	// packing p.
	Compile(ctx context.Context, g *ir.Graph, p lower.Packing) (Executable, error)

	// Alloc returns zeroed memory of the device. Executables refuse any other.
	Alloc(bytes, align int64) (lower.Mem, error)
}

// An Executable is one compiled graph of a Device. One Run at a time.
type Executable interface {
	// Run takes a buffer for each input, weight and output, in the graph's
	// order, each at a multiple of 128 bytes of its Mem but for weights, which
	// stand at multiples of lower.Align. It uses a Mem's handle and the offset;
	// bytes it reads only where the host makes an operand ready. Inputs may be overwritten. A lower.RowError names a row
	// of this run.
	Run(ctx context.Context, in, weights, out []lower.Buffer) error
	Close() error
}

// align is what buffers in a device's working memory start at, in bytes.
const align = 128

// A Backend runs ragged calls on a device of static graphs.
type Backend struct {
	device Device
	tiers  passes.Tiers
	policy Policy
}

// New returns the backend that runs ragged calls on d, which has graphs for the
// given tiers.
func New(d Device, t passes.Tiers) *Backend { return &Backend{device: d, tiers: t} }

// Target returns what a package is opened for: the device, and host for the
// graphs that it refuses.
func (b *Backend) Target(host lower.Backend) passes.Target {
	return passes.Target{Backend: b, Host: host, Static: true, Tiers: b.tiers}
}

// Name implements lower.Backend: it is the device's.
func (b *Backend) Name() string { return b.device.Name() }

// Packings implements lower.Backend: they are the device's.
func (b *Backend) Packings() []lower.Packing { return b.device.Packings() }

// Supports implements lower.Backend. It is asked of a tier's values: those of a
// ragged graph that need a state, or pick rows, are not among them.
func (b *Backend) Supports(v *ir.Value) error { return b.device.Supports(v) }

// Ops lists the device's operators; nil where it does not list them.
func (b *Backend) Ops() []*ir.Op {
	if d, ok := b.device.(interface{ Ops() []*ir.Op }); ok {
		return d.Ops()
	}
	return nil
}
