// Package host runs graphs on the processor it is compiled for: the backend that
// is always there.
//
// Compile turns each graph into a list of instructions whose operands have
// places fixed beforehand: the call's inputs, weights and outputs, and slots of
// one workspace. What holds, whatever the number of threads, the grouping of
// experts and the way rows are cut:
//
//	H1 an instruction's loop is cut into pieces that write different elements,
//	   each computed as one thread would compute it: results are the same bit for bit
//	H2 y of an expert graph gets its experts in the order of the call, each with
//	   its rows ascending; the product with w and the sum are rounded apart
//	H3 a slot is not read after another value was put there
//	H4 at most Threads goroutines compute; those beside the caller's end with Close
//
// Memory: Alloc and the workspace are outside Go's heap (pager.Pages). The
// workspace is one a Compiled, grows to what the largest call needs, which
// Footprint tells, and is freed by Close. So a Compiled runs one call at a time:
// others wait. Buffers belong to the caller and are not kept.
package host

import (
	"context"
	"fmt"
	"maps"
	goruntime "runtime"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// Options are what a host backend may be given.
type Options struct {
	Threads int             // that a Run may use; 0: GOMAXPROCS
	Kernels *kernel.Set     // nil: kernel.Best, whose error Compile returns
	Ops     map[*ir.Op]Func // operators from outside; none of ir.CoreOps

	// Trace, where set, is told of each instruction, right after it ran. Calls of
	// one Compiled come one at a time.
	Trace func(Event)
}

// New returns the host backend.
func New(o Options) lower.Backend {
	if o.Threads <= 0 {
		o.Threads = goruntime.GOMAXPROCS(0)
	}
	b := &backend{threads: o.Threads, set: o.Kernels, core: core(), ops: maps.Clone(o.Ops), trace: o.Trace, rowCap: 1024, fuse: true}
	if b.set == nil {
		b.set, b.noSet = kernel.Best()
	}
	return b
}

type backend struct {
	threads int
	set     *kernel.Set
	noSet   error // why there is none
	core    map[*ir.Op]operator
	ops     map[*ir.Op]Func
	trace   func(Event) // nil: nobody asks
	rowCap  int         // rows of a group that are worked on at once, at most
	fuse    bool        // gated bodies run fused
}

func (b *backend) Name() string { return "host" }

func (b *backend) Packings() []lower.Packing { return []lower.Packing{kernel.Packing} }

// Compile implements lower.Backend. Graphs that hold experts have no program: the
// runtime calls the callee's.
func (b *backend) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	if b.noSet != nil {
		return nil, fmt.Errorf("host: %w", b.noSet)
	}
	if p.Size == nil || p.Unpack == nil {
		return nil, fmt.Errorf("host: packing %q cannot be read: it has no functions", p.Name)
	}
	for op := range b.ops {
		if _, ok := b.core[op]; ok {
			return nil, fmt.Errorf("host: operator %s has two functions: Options.Ops must not name it", op)
		}
	}
	if err := m.Verify(); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	c := newCompiled(b, p)
	for _, g := range m.Graphs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if g.On != "" && g.On != b.Name() {
			continue
		}
		if callee := g.Callee(); callee != "" {
			c.callees[g.Name] = callee
			continue
		}
		prog, err := c.compile(g)
		if err != nil {
			return nil, fmt.Errorf("host: graph %s: %w", g.Name, err)
		}
		c.programs[g.Name] = prog
	}
	return c, nil
}

// Load implements lower.Backend. There are no artifacts of this backend.
func (b *backend) Load(context.Context, *ir.Module, lower.Packing, []byte) (lower.Compiled, error) {
	return nil, fmt.Errorf("host: artifacts are not kept, compile the module: %w", lower.ErrUnsupported)
}
