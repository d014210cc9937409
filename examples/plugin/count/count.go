// Package count is a backend that runs on another and counts: when what it has
// compiled is closed, it writes how often each graph was called.
//
// It shows how little stands between a backend and the programs that a runtime
// calls, and where to put what looks at every call.
package count

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"estream/ir"
	"estream/lower"
)

// New returns a backend that runs on b and writes to w.
func New(b lower.Backend, w io.Writer) lower.Backend { return &backend{b, w} }

type backend struct {
	lower.Backend
	w io.Writer
}

// Compile implements lower.Backend.
func (b *backend) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	return b.counting(b.Backend.Compile(ctx, m, p))
}

// Load implements lower.Backend.
func (b *backend) Load(ctx context.Context, m *ir.Module, p lower.Packing, artifact []byte) (lower.Compiled, error) {
	return b.counting(b.Backend.Load(ctx, m, p, artifact))
}

func (b *backend) counting(c lower.Compiled, err error) (lower.Compiled, error) {
	if err != nil {
		return nil, err
	}
	return &compiled{Compiled: c, w: b.w, calls: map[string]*atomic.Int64{}}, nil
}

type compiled struct {
	lower.Compiled
	w io.Writer

	mu    sync.Mutex
	calls map[string]*atomic.Int64 // by graph
}

// Program implements lower.Compiled.
func (c *compiled) Program(graph string) (lower.Program, error) {
	p, err := c.Compiled.Program(graph)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[graph] == nil {
		c.calls[graph] = new(atomic.Int64)
	}
	return program{p, c.calls[graph]}, nil
}

// Close implements lower.Compiled.
func (c *compiled) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, graph := range slices.Sorted(maps.Keys(c.calls)) {
		if n := c.calls[graph].Load(); n > 0 {
			fmt.Fprintf(c.w, "called %-12s %d times\n", graph, n)
		}
	}
	return c.Compiled.Close()
}

type program struct {
	lower.Program
	calls *atomic.Int64
}

// Run implements lower.Program.
func (p program) Run(ctx context.Context, c *lower.Call) error {
	p.calls.Add(1)
	return p.Program.Run(ctx, c)
}
