package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"

	"estream/lower"
	"estream/pager"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/passes"
)

// A fixer is a device that can have weights inside its graphs.
type fixer interface {
	Fix(ctx context.Context, graphs []string, weights [][]lower.Buffer) ([]lower.Program, io.Closer, error)
	Inside(graph string) int64 // bytes of weights that Fix puts into a graph's tiers
}

// inside is the programs of layers that have their weights inside.
type inside struct {
	programs map[inPhase]lower.Program
	closers  []io.Closer
}

type inPhase struct {
	layer int
	phase *phase
}

// of returns the program that runs a phase of a layer.
func (in *inside) of(layer int, p *phase) lower.Program {
	if x := in.programs[inPhase{layer, p}]; x != nil {
		return x
	}
	return p.program
}

// layers is how many have such programs.
func (in *inside) layers() int {
	layers := map[int]bool{}
	for at := range in.programs {
		layers[at.layer] = true
	}
	return len(layers)
}

func (in *inside) close() error {
	var errs []error
	for _, c := range in.closers {
		errs = append(errs, c.Close())
	}
	*in = inside{}
	return errors.Join(errs...)
}

// insideTokens is of the batch that has to fit the budget beside weights inside graphs.
const insideTokens = 64

// putInside puts weights inside where Options ask for it, and keeps in mind of how many
// layers what the package keeps is of no use.
func (m *Model) putInside(ctx context.Context) error {
	if !m.opt.Inside {
		return nil
	}
	if err := m.putLayersInside(ctx); err != nil {
		return err
	}
	if n := m.inside.layers(); n > 0 && m.loaded != nil {
		m.unused = &Unused{Artifact: *m.loaded, Inside: n}
	}
	return nil
}

// putLayersInside has the device make graphs of layers anew, with their weights inside,
// from the first layer on, while the budget holds one more: as large as the largest so
// far was, or, of the first, four times the weights that go into its tiers.
func (m *Model) putLayersInside(ctx context.Context) error {
	d, ok := m.device.(fixer)
	if !ok {
		return errors.New("options: no device that can have weights inside its graphs: bind them")
	}
	m.inside.programs = map[inPhase]lower.Program{}
	most := int64(0)
	for l, c := range m.layers {
		phases, bytes := m.insidePhases(d, c)
		if m.opt.Memory > 0 {
			p := Plan{Tokens: insideTokens, Sequences: 1, Rows: 1, collect: true}
			if err := m.ready(ctx, &p); err != nil {
				return err
			}
			plan, err := m.fit(p, Shape{}, 0)
			if err != nil {
				return err
			}
			if l == 0 {
				most = 4 * bytes
			}
			if plan.Bytes()+most > m.opt.Memory {
				return nil
			}
		}
		before := residentBytes()
		if err := m.putLayerInside(ctx, d, l, phases); err != nil {
			return fmt.Errorf("layer %d: %w", l, err)
		}
		most = max(most*min(int64(l), 1), residentBytes()-before)
	}
	return nil
}

// insidePhases are those of a class that a device runs and that have weights, and the
// bytes of these in all tiers.
func (m *Model) insidePhases(d fixer, c *class) (phases []*phase, bytes int64) {
	for _, name := range passes.Phases() {
		p := c.phases[name]
		if p == nil || p.graph.On != m.opt.Device.Name() || p.program == nil || len(p.weights) == 0 {
			continue
		}
		phases, bytes = append(phases, p), bytes+d.Inside(p.graph.Name)
	}
	return phases, bytes
}

// putLayerInside reads the layer's dense record for it.
func (m *Model) putLayerInside(ctx context.Context, d fixer, l int, phases []*phase) error {
	if len(phases) == 0 {
		return nil
	}
	dense, _ := m.records(l)
	mem, err := m.readRecord(ctx, dense[0])
	if err != nil {
		return err
	}
	var graphs []string
	var weights [][]lower.Buffer
	for _, p := range phases {
		graphs, weights = append(graphs, p.graph.Name), append(weights, p.bound(mem, 0, dense[0].Factors))
	}
	programs, closer, err := d.Fix(ctx, graphs, weights)
	if err == nil {
		m.inside.closers = append(m.inside.closers, closer)
		for i, x := range programs {
			m.inside.programs[inPhase{l, phases[i]}] = x
		}
	}
	return errors.Join(err, mem.Free())
}

// readRecord reads and checks a dense record, which the caller frees.
func (m *Model) readRecord(ctx context.Context, r layout.Record) (lower.Mem, error) {
	align := m.pkg.Manifest.Align
	mem, err := m.host.Alloc(r.Stride(align), align)
	if err != nil {
		return nil, err
	}
	err = m.dense.ReadAt(ctx, mem.Bytes(), r.Offset)
	if err == nil && m.opt.Checksum != pager.Off && crc32c.Checksum(mem.Bytes()[:r.Length]) != r.CRC {
		err = fmt.Errorf("%s: record of layer %d at offset %d: %w", m.dense.Name(), r.Layer, r.Offset, pager.ErrChecksum)
	}
	if err != nil {
		return nil, errors.Join(err, mem.Free())
	}
	return mem, nil
}
