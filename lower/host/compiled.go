package host

import (
	"context"
	"fmt"

	"estream/lower"
	"estream/lower/host/kernel"
)

// A compiled is the programs of one module, with the workspace and the threads
// they share.
type compiled struct {
	backend  *backend
	packing  lower.Packing
	programs map[string]*program
	callees  map[string]string // by the graph whose experts call it
	pool     *pool
	running  chan struct{} // holds the token of the Run under way
	space    *mem          // the workspace; only the Run under way touches it
}

func newCompiled(b *backend, p lower.Packing) *compiled {
	c := &compiled{
		backend: b, packing: p, programs: map[string]*program{}, callees: map[string]string{},
		pool: newPool(b.threads, b.set), running: make(chan struct{}, 1),
	}
	if b.trace != nil {
		c.pool.count()
	}
	return c
}

// foreign reports whether matrices are arranged for another backend.
func (c *compiled) foreign() bool { return c.packing.Name != kernel.Packing.Name }

// Program implements lower.Compiled.
func (c *compiled) Program(graph string) (lower.Program, error) {
	if p, ok := c.programs[graph]; ok {
		return p, nil
	}
	if callee, ok := c.callees[graph]; ok {
		return nil, fmt.Errorf("host: graph %s has no program: its experts run as group calls of %s", graph, callee)
	}
	return nil, fmt.Errorf("host: graph %s was not compiled for this backend", graph)
}

// Artifact implements lower.Compiled: there is nothing to keep.
func (c *compiled) Artifact() ([]byte, error) { return nil, nil }

// Footprint implements lower.Compiled. Of an expert graph, the extent of its rows
// is how many a whole group has; without it, as many as a call works on at once.
func (c *compiled) Footprint(graph string, dims lower.Dims) (int64, error) {
	p, ok := c.programs[graph]
	if !ok {
		return 0, nil
	}
	n, err := p.footprint(dims)
	if err != nil {
		return 0, fmt.Errorf("host: graph %s: working memory: %w", graph, err)
	}
	return n, nil
}

// Close implements lower.Compiled. It ends the threads and frees the workspace.
func (c *compiled) Close() error {
	c.pool.team.stop()
	return c.freeWorkspace()
}

// Kept implements lower.Keeper.
func (c *compiled) Kept() lower.Mem {
	c.running <- struct{}{}
	defer func() { <-c.running }()
	if c.space == nil {
		return nil
	}
	return c.space
}

// Drop implements lower.Keeper.
func (c *compiled) Drop() error {
	c.running <- struct{}{}
	defer func() { <-c.running }()
	return c.freeWorkspace()
}

func (c *compiled) freeWorkspace() error {
	space := c.space
	if c.space = nil; space == nil {
		return nil
	}
	return space.Free()
}

// acquire waits until no other Run is under way.
func (c *compiled) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.running <- struct{}{}:
		c.pool.done = ctx.Done()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *compiled) release() {
	c.pool.done = nil
	<-c.running
}

// workspace returns at least n bytes. What the last Run left there is gone.
func (c *compiled) workspace(n int64) (*mem, error) {
	if c.space != nil && int64(len(c.space.bytes)) >= n {
		return c.space, nil
	}
	if err := c.freeWorkspace(); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	space, err := alloc(n, lower.Align)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	c.space = space
	return space, nil
}
