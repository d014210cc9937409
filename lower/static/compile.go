package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// compiled holds the programs of a module's graphs that have tiers.
type compiled struct {
	device   Device
	policy   Policy
	pack     lower.Packing
	hosted   lower.Compiled // experts that the host runs too; nil: none
	programs map[string]*program
	tiers    []*tier       // of all programs, in the module's order
	artifact []byte        // that the tiers' graphs were loaded from; nil: none
	work     lower.Mem     // what the tiers' slots stand in, one tier at a time
	running  sync.Mutex    // held while work is in use
	patience time.Duration // that is left of the device's
	readied  int           // graphs that Ready ran
	fixed    []*fixed      // programs with weights inside
	worked   passes.Work   // of experts, since Worked
}

// Compile implements lower.Backend: each tier of each graph that stands on the
// device is compiled.
func (b *Backend) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	return b.compile(ctx, m, p, nil)
}

func (b *Backend) compile(ctx context.Context, m *ir.Module, p lower.Packing, artifact []byte) (_ lower.Compiled, err error) {
	c := &compiled{device: b.device, policy: b.policy, pack: p, programs: map[string]*program{}, artifact: artifact}
	if d, ok := b.device.(Lazy); ok {
		c.patience = d.Patience()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, g := range m.Graphs {
		if g.On != b.Name() {
			continue
		}
		if err := c.add(m, g, p); err != nil {
			return nil, fmt.Errorf("%s: graph %s: %w", b.Name(), g.Name, err)
		}
	}
	for _, step := range []func() error{
		func() error { return c.complete(m) },
		func() error { return c.realize(ctx, p) },
		c.settle,
		func() error { return c.host(ctx, m, p) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
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

// add fits g to its program if it is a tier.
func (c *compiled) add(m *ir.Module, g *ir.Graph, pack lower.Packing) error {
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
	p.tiers, c.tiers = append(p.tiers, t), append(c.tiers, t)
	return nil
}

// settle orders the tiers and gives them their working memory.
func (c *compiled) settle() error {
	bytes := int64(0)
	for _, p := range c.programs {
		slices.SortFunc(p.tiers, func(a, b *tier) int {
			return cmp.Or(cmp.Compare(a.rows, b.rows), cmp.Compare(a.past, b.past), cmp.Compare(a.bodies, b.bodies), cmp.Compare(a.columns, b.columns))
		})
		if err := p.settle(); err != nil {
			return fmt.Errorf("%s: graph %s: %w", c.device.Name(), p.graph.Name, err)
		}
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

// Worked returns what the calls of experts since it was called before add up to, those
// that failed apart.
func (c *compiled) Worked() passes.Work {
	c.running.Lock()
	defer c.running.Unlock()
	w := c.worked
	c.worked = passes.Work{}
	return w
}

func (c *compiled) Artifact() ([]byte, error) { return c.artifact, nil }

// Footprint is what a graph's largest tier needs, whatever the call: it is
// allocated already, once for all programs. An expert that the host runs too has what
// that needs beside all of it: the host's own working memory stays when others run.
func (c *compiled) Footprint(graph string, dims lower.Dims) (int64, error) {
	p := c.programs[graph]
	if p == nil {
		return 0, nil
	}
	if p.host != nil {
		n, err := c.hosted.Footprint(graph, dims)
		return int64(len(c.work.Bytes())) + n, err
	}
	bytes := int64(0)
	for _, t := range p.tiers {
		bytes = max(bytes, t.bytes)
	}
	return bytes, nil
}

func (c *compiled) Alloc(bytes, align int64) (lower.Mem, error) { return c.device.Alloc(bytes, align) }

func (c *compiled) Close() error {
	var errs []error
	for _, f := range c.fixed {
		errs = append(errs, f.closeTiers())
	}
	for _, t := range c.tiers {
		if t.exe != nil {
			errs = append(errs, t.exe.Close())
		}
	}
	if c.work != nil {
		errs = append(errs, c.work.Free())
	}
	if c.hosted != nil {
		errs = append(errs, c.hosted.Close())
	}
	c.programs, c.fixed, c.tiers, c.work, c.hosted = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
