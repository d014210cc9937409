package static

import (
	"context"
	"fmt"

	"estream/ir"
	"estream/lower"
)

// A Preparer is a Device that makes all graphs of a module together, and keeps
// them as bytes from which another process has them at once.
type Preparer interface {
	// Prepare makes the graphs and returns what Load takes; nil where nothing is
	// kept: they are then compiled one by one.
	Prepare(ctx context.Context, gs []*ir.Graph, p lower.Packing) ([]byte, error)

	// Load makes runnable what Prepare made of the same graphs and packing.
	Load(ctx context.Context, gs []*ir.Graph, p lower.Packing, artifact []byte) ([]Executable, error)

	// Target says for which architecture and by which SDK Prepare makes graphs.
	Target() (arch, sdk string, err error)

	// Fits returns nil if Load may take what was made for and by others: else an
	// error that names them, the device's, and the remedy.
	Fits(arch, sdk string) error
}

// Load implements lower.Backend for a Preparer.
func (b *Backend) Load(ctx context.Context, m *ir.Module, p lower.Packing, artifact []byte) (lower.Compiled, error) {
	if _, ok := b.device.(Preparer); !ok {
		return nil, b.keepsNone()
	}
	return b.compile(ctx, m, p, artifact)
}

func (b *Backend) keepsNone() error {
	return fmt.Errorf("%s keeps no artifacts: compile the package's module: %w", b.Name(), lower.ErrUnsupported)
}

// ArtifactTarget says what artifacts of the backend are made for, and by which SDK.
func (b *Backend) ArtifactTarget() (arch, sdk string, err error) {
	if d, ok := b.device.(Preparer); ok {
		return d.Target()
	}
	return "", "", b.keepsNone()
}

// ArtifactFits returns nil if Load may take an artifact, or why not.
func (b *Backend) ArtifactFits(arch, sdk string) error {
	if d, ok := b.device.(Preparer); ok {
		return d.Fits(arch, sdk)
	}
	return b.keepsNone()
}

// realize makes the tiers' graphs runnable: from the artifact if there is one, else
// together if the device does that, else one by one.
func (c *compiled) realize(ctx context.Context, pack lower.Packing) (err error) {
	graphs := make([]*ir.Graph, len(c.tiers))
	for i, t := range c.tiers {
		graphs[i] = t.graph
	}
	d, together := c.device.(Preparer)
	if together && c.artifact == nil && len(graphs) > 0 {
		if c.artifact, err = d.Prepare(ctx, graphs, pack); err != nil {
			return err
		}
	}
	if c.artifact == nil {
		return c.each(ctx, pack)
	}
	made, err := d.Load(ctx, graphs, pack, c.artifact)
	if err != nil {
		return err
	}
	for i, t := range c.tiers {
		t.exe = made[i]
	}
	return nil
}

// each compiles one tier after another.
func (c *compiled) each(ctx context.Context, pack lower.Packing) (err error) {
	for _, t := range c.tiers {
		if t.exe, err = c.device.Compile(ctx, t.graph, pack); err != nil {
			return fmt.Errorf("%s: graph %s: %w", c.device.Name(), t.graph.Name, err)
		}
	}
	return nil
}
