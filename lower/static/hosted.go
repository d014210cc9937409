package static

import (
	"context"
	"fmt"

	"estream/ir"
	"estream/lower"
)

// host compiles the experts that have tiers for the policy's host too.
func (c *compiled) host(ctx context.Context, m *ir.Module, pack lower.Packing) error {
	if c.policy.Host == nil {
		return nil
	}
	var own ir.Module
	for _, g := range m.Graphs {
		if p := c.programs[g.Name]; p != nil && p.expert != nil {
			g = g.Clone()
			g.On = ""
			own.Graphs = append(own.Graphs, g)
		}
	}
	if len(own.Graphs) == 0 {
		return nil
	}
	var err error
	if c.hosted, err = c.policy.Host.Compile(ctx, &own, pack); err != nil {
		return fmt.Errorf("%s: experts that the host is to run too: %w", c.device.Name(), err)
	}
	for _, g := range own.Graphs {
		if c.programs[g.Name].host, err = c.hosted.Program(g.Name); err != nil {
			return err
		}
	}
	return nil
}

// Kept implements lower.Keeper: it is the host's.
func (c *compiled) Kept() lower.Mem {
	if k, ok := c.hosted.(lower.Keeper); ok {
		return k.Kept()
	}
	return nil
}

// Drop implements lower.Keeper.
func (c *compiled) Drop() error {
	if k, ok := c.hosted.(lower.Keeper); ok {
		return k.Drop()
	}
	return nil
}
