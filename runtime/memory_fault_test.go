package runtime_test

import (
	"context"
	"sync/atomic"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
)

// A counting is the host backend, which knows how much of its memory is not freed.
type counting struct {
	lower.Backend
	live atomic.Int64 // bytes
}

func newCounting() *counting { return &counting{Backend: host.New(host.Options{Threads: 1})} }

func (c *counting) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	compiled, err := c.Backend.Compile(ctx, m, p)
	if err != nil {
		return nil, err
	}
	return countingCompiled{compiled, compiled.(lower.Keeper), c}, nil
}

type countingCompiled struct {
	lower.Compiled
	lower.Keeper
	to *counting
}

func (c countingCompiled) Alloc(bytes, align int64) (lower.Mem, error) {
	mem, err := c.Compiled.Alloc(bytes, align)
	if err != nil {
		return nil, err
	}
	c.to.live.Add(bytes)
	return &countedMem{mem, bytes, c.to}, nil
}

type countedMem struct {
	lower.Mem
	bytes int64
	to    *counting
}

func (m *countedMem) Free() error {
	m.to.live.Add(-m.bytes)
	return m.Mem.Free()
}
