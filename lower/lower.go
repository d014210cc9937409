// Package lower is the contract between the compiler and the backends that run
// graphs. lower/host implements Backend, and lower/static does for any device that
// runs graphs of fixed extents only.
//
// A new backend implements Backend, or static.Device if its graphs have numbers
// for extents. Its test is one call of lowertest.RunAll, which compares it with
// ir/interp on every op that it supports and holds it to
//
//	B1 a refusal wraps ErrUnsupported and names op and operands
//	B2 a malformed call is an error, never a panic
//	B3 a call changes its outputs and nothing else; it writes all of them
//	B4 what no sequence of a step holds is never read
//	B5 a packing gives back exactly the values that it was given
//	B6 rows do not depend on the rows that are computed beside them, nor on steps
//	   being cut in two; backends of fixed extents may be off by their tolerance
//	B7 an expert graph gives the same bits however its group is cut
//
// Memory: a Mem is allocated by a Compiled and freed by whoever allocated it. A
// Program reads and writes the buffers of a call while Run lasts and keeps no
// address of them. A device program uses a Mem's handle and offset only.
package lower

import (
	"context"
	"errors"

	"estream/ir"
	"estream/ir/quant"
)

// Dims binds symbols to extents.
type Dims = ir.Dims

// ErrUnsupported is wrapped by what Supports and Compile return for an op, type
// or shape that a backend cannot run.
var ErrUnsupported = errors.New("unsupported")

// A Backend compiles modules for one kind of device. It has no state of its own
// and is safe for concurrent use. One with a method Ops() []*ir.Op tells people
// which operators it runs, of some types at least.
type Backend interface {
	Name() string

	// Supports returns nil, or why v cannot run here, wrapping ErrUnsupported.
	// It is a pure function of v's op, types and attribute.
	Supports(v *ir.Value) error

	// Packings returns how this backend's programs read matrices; the first is
	// the one that pack writes for it.
	Packings() []Packing

	// Compile lowers the legalized graphs of m that stand on this backend. The
	// matrices that will be bound are in the packing given, which may be
	// another backend's.
	Compile(ctx context.Context, m *ir.Module, p Packing) (Compiled, error)

	// Load is Compile of the same module and packing, from what Artifact
	// returned; ErrUnsupported where the backend keeps no artifacts.
	Load(ctx context.Context, m *ir.Module, p Packing, artifact []byte) (Compiled, error)
}

// A Compiled is the programs of one module on one backend. Its methods are safe
// for concurrent use; Close comes last.
type Compiled interface {
	Program(graph string) (Program, error) // the program of a graph of the module, by its name
	Artifact() ([]byte, error)             // bytes that Load takes; nil where there is nothing to keep
	Alloc(bytes, align int64) (Mem, error) // memory for buffers, zeroed; align a power of two
	Close() error

	// Footprint returns the bytes of working memory that a call of these extents
	// needs beside its buffers; 0 for a graph without a program. It is an error
	// if dims leaves an extent open.
	Footprint(graph string, dims Dims) (int64, error)
}

// A Keeper is a Compiled that keeps working memory from call to call. What Kept
// returns is valid until the next call or Drop; nil is nothing.
type Keeper interface {
	Kept() Mem
	Drop() error // frees it; the next call takes what it needs
}

// A Program is one compiled graph. One Run at a time. Its errors wrap a RowError
// or an ExpertError where they know which row or expert of the call is to blame.
type Program interface {
	Run(ctx context.Context, c *Call) error
}

// A Call is one run of a program.
type Call struct {
	In      []Buffer // one for each input of the graph, in order
	Weights []Buffer // one for each weight of the graph, in order; none in a group call
	Out     []Buffer // one for each output, in order; an output written in place is given the operand's buffer
	Group   []Expert // of an expert graph: the experts to run, in this order
}

// An Expert is one expert of a group call. In the call, the inputs "rows" and
// "w" of the graph have empty buffers: these fields stand for them. The weight i
// of the graph lies in Record at its attribute's Offset.
type Expert struct {
	Record  Buffer
	Factors []float32 // one a weight
	Rows    []int32   // ascending rows of x and y
	W       []float32 // one a row: what the expert's output is multiplied by
}

// A Mem is memory that a backend can bind.
type Mem interface {
	Bytes() []byte // as the host and pread see it; valid until Free
	Free() error
}

// A Buffer is a typed part of a Mem. Extents of Type are numbers. Rows of
// activations and states stand RowBytes(Type) apart.
type Buffer struct {
	Mem    Mem
	Off    int64 // bytes
	Len    int64 // bytes
	Type   ir.Type
	Factor float32 // of an encoded weight; ignored otherwise
}

// Bytes returns the buffer's bytes, or nil for the empty Buffer.
func (b Buffer) Bytes() []byte {
	if b.Mem == nil {
		return nil
	}
	return b.Mem.Bytes()[b.Off : b.Off+b.Len : b.Off+b.Len]
}

// A Packing arranges matrices that matmul reads for one kind of program. It may
// repeat a group's scale or scale by powers of two, and never rounds. Vectors
// and tables, which no matmul reads, are plain: row after row (see PlainSize).
type Packing struct {
	Name   string
	Size   func(t ir.Type) (int64, error)                     // bytes of a weight [N,K], a multiple of 64
	Pack   func(dst []byte, m *quant.Matrix) error            // dst has Size bytes
	Unpack func(src []byte, t ir.Type) (*quant.Matrix, error) // Factor 1; the exact values that were packed

	// Rows, which may be nil, is Unpack of rows from.. of Size bytes: as many as dst
	// has, into its slices, of which it writes all. It allocates nothing, and calls may
	// be under way at once.
	Rows func(dst *quant.Matrix, src []byte, t ir.Type, from int)
}
