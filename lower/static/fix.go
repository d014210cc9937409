package static

import (
	"context"
	"errors"
	"fmt"
	"io"

	"estream/ir"
	"estream/lower"
)

// A Fixer is a Device that can make graphs whose weights are constants.
type Fixer interface {
	// Fix makes gs, weights[i] being those of gs[i], in its order, all in one context,
	// and does not need their memory afterwards. Runs are given weights all the same,
	// and do not read them.
	Fix(ctx context.Context, gs []*ir.Graph, p lower.Packing, weights [][]lower.Buffer) ([]Executable, error)
}

// Fix returns programs of graphs with weights inside, those of each in its order: all
// tiers of all graphs are made together. Calls of them are those of the graphs' own
// programs, and so are results. Who closes them does so before the Compiled is closed;
// else that does.
func (c *compiled) Fix(ctx context.Context, graphs []string, weights [][]lower.Buffer) ([]lower.Program, io.Closer, error) {
	f := &fixed{owner: c}
	err := f.make(ctx, graphs, weights)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: weights inside graphs: %w", c.device.Name(), err), f.closeTiers())
	}
	c.running.Lock()
	defer c.running.Unlock()
	c.fixed = append(c.fixed, f)
	var out []lower.Program
	for _, p := range f.programs {
		out = append(out, p)
	}
	return out, f, nil
}

// Inside returns the bytes of weights that Fix puts into a graph's tiers.
func (c *compiled) Inside(graph string) int64 {
	bytes := int64(0)
	if p := c.programs[graph]; p != nil && p.expert == nil {
		for _, t := range p.tiers {
			for _, w := range t.weights {
				bytes += t.sizes[w.i]
			}
		}
	}
	return bytes
}

// fixed is programs that have weights of their own inside.
type fixed struct {
	owner    *compiled
	programs []*program
}

func (f *fixed) make(ctx context.Context, graphs []string, weights [][]lower.Buffer) error {
	c := f.owner
	d, ok := c.device.(Fixer)
	if !ok {
		return fmt.Errorf("the device has them bound at each run alone: %w", lower.ErrUnsupported)
	}
	var tiers []*tier
	var gs []*ir.Graph
	var ws [][]lower.Buffer
	for i, name := range graphs {
		p := c.programs[name]
		if p == nil || p.expert != nil {
			return fmt.Errorf("graph %s has no tiers here, or is an expert's", name)
		}
		if err := p.checkWeights(weights[i], nil); err != nil {
			return fmt.Errorf("graph %s: %w", name, err)
		}
		own := *p
		own.tiers = nil
		for _, t := range p.tiers {
			again := *t
			again.exe, again.ran = nil, false
			own.tiers, tiers = append(own.tiers, &again), append(tiers, &again)
			gs, ws = append(gs, t.graph), append(ws, p.pickWeights(t, weights[i]))
		}
		f.programs = append(f.programs, &own)
	}
	made, err := d.Fix(ctx, gs, c.pack, ws)
	for i, e := range made {
		tiers[i].exe = e
	}
	return err
}

// Close frees the graphs.
func (f *fixed) Close() error {
	c := f.owner
	c.running.Lock()
	defer c.running.Unlock()
	for i := range c.fixed {
		if c.fixed[i] == f {
			c.fixed = append(c.fixed[:i:i], c.fixed[i+1:]...)
			return f.closeTiers()
		}
	}
	return errors.New("programs with weights inside are closed twice")
}

func (f *fixed) closeTiers() error {
	var errs []error
	for _, p := range f.programs {
		for _, t := range p.tiers {
			if t.exe != nil {
				errs = append(errs, t.exe.Close())
			}
		}
	}
	return errors.Join(errs...)
}
