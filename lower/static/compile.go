package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// compiled holds the programs of a module's graphs that have tiers.
type compiled struct {
	device   Device
	programs map[string]*program
	work     lower.Mem  // what the tiers' slots stand in, one tier at a time
	running  sync.Mutex // held while work is in use
}

// Compile implements lower.Backend: each tier of each graph that stands on the
// device is compiled.
func (b *Backend) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	c := &compiled{device: b.device, programs: map[string]*program{}}
	for _, g := range m.Graphs {
		if g.On != b.Name() {
			continue
		}
		if err := c.add(ctx, m, g, p); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: graph %s: %w", b.Name(), g.Name, err), c.Close())
		}
	}
	err := c.complete(m)
	if err == nil {
		err = c.settle()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// complete reports a graph on the device that has no tiers. Those that call
// experts need none: the runtime calls the callee.
func (c *compiled) complete(m *ir.Module) error {
	for _, g := range m.Graphs {
		calls := slices.ContainsFunc(g.Values, func(v *ir.Value) bool { return v.Op == ir.Experts })
		if _, _, tier := passes.ParseTier(g.Name); g.On == c.device.Name() && !tier && !calls && c.programs[g.Name] == nil {
			return fmt.Errorf("%s: graph %s has no tiers: want bind-dims to have run, and rows that T or R counts: %w", g.On, g.Name, lower.ErrUnsupported)
		}
	}
	return nil
}

// add compiles g if it is a tier.
func (c *compiled) add(ctx context.Context, m *ir.Module, g *ir.Graph, pack lower.Packing) error {
	name, dims, ok := passes.ParseTier(g.Name)
	if !ok {
		return nil
	}
	p := c.programs[name]
	if p == nil {
		signature := m.Graph(name)
		if signature == nil {
			return fmt.Errorf("the module has no graph %s, of which this is a tier", name)
		}
		var err error
		if p, err = newProgram(c, signature, pack); err != nil {
			return err
		}
		c.programs[name] = p
	}
	t, err := p.newTier(g, dims)
	if err != nil {
		return err
	}
	if t.exe, err = c.device.Compile(ctx, g, pack); err != nil {
		return err
	}
	p.tiers = append(p.tiers, t)
	return nil
}

// settle orders the tiers and gives them their working memory.
func (c *compiled) settle() error {
	bytes := int64(0)
	for _, p := range c.programs {
		slices.SortFunc(p.tiers, func(a, b *tier) int { return cmp.Or(cmp.Compare(a.rows, b.rows), cmp.Compare(a.past, b.past)) })
		for _, t := range p.tiers {
			bytes = max(bytes, t.bytes)
		}
	}
	if bytes == 0 {
		return nil
	}
	var err error
	if c.work, err = c.device.Alloc(bytes, align); err != nil {
		return fmt.Errorf("%s: %d bytes of working memory: %w", c.device.Name(), bytes, err)
	}
	for _, p := range c.programs {
		for _, t := range p.tiers {
			t.settle(c.work)
		}
	}
	return nil
}

func (c *compiled) Program(graph string) (lower.Program, error) {
	p := c.programs[graph]
	if p == nil {
		return nil, fmt.Errorf("%s: graph %s has no tiers here", c.device.Name(), graph)
	}
	return p, nil
}

func (c *compiled) Artifact() ([]byte, error) { return nil, nil }

// Footprint is what a graph's largest tier needs, whatever the call: it is
// allocated already, once for all programs.
func (c *compiled) Footprint(graph string, _ lower.Dims) (int64, error) {
	bytes := int64(0)
	if p := c.programs[graph]; p != nil {
		for _, t := range p.tiers {
			bytes = max(bytes, t.bytes)
		}
	}
	return bytes, nil
}

func (c *compiled) Alloc(bytes, align int64) (lower.Mem, error) { return c.device.Alloc(bytes, align) }

func (c *compiled) Close() error {
	var errs []error
	for _, p := range c.programs {
		for _, t := range p.tiers {
			errs = append(errs, t.exe.Close())
		}
	}
	if c.work != nil {
		errs = append(errs, c.work.Free())
	}
	c.programs, c.work = nil, nil
	return errors.Join(errs...)
}
