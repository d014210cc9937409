package qnn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
	"estream/lower/static"
)

// Load implements static.Preparer. What the binary says of itself is compared with
// the device and with what the graphs become, before the library has it. One that
// was made of other graphs is an error that wraps lower.ErrUnsupported.
func (d *Device) Load(ctx context.Context, gs []*ir.Graph, p lower.Packing, binary []byte) ([]static.Executable, error) {
	if !d.half() {
		return nil, fmt.Errorf("%s has no context binaries: %w", d.name, lower.ErrUnsupported)
	}
	lows, err := d.lowerAll(gs, p)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	es, err := d.load(gs, lows, binary)
	if err != nil {
		return nil, fmt.Errorf("%s: context binary: %w", d.name, err)
	}
	return es, nil
}

func (d *Device) load(gs []*ir.Graph, lows []*lowered, binary []byte) ([]static.Executable, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	signatures, err := d.read(lows, binary)
	if err != nil {
		return nil, err
	}
	in := &room{live: 1} // this function's part
	graphs := make([]*native.Graph, len(signatures))
	err = d.thread.do(func() (err error) {
		if in.context, err = d.backend.FromBinary(binary); err != nil {
			return err
		}
		for i := 0; i < len(graphs) && err == nil; i++ {
			graphs[i], err = in.context.Retrieve(signatures[i])
		}
		return err
	})
	return d.executables(gs, lows, graphs, in, err)
}

// executables makes runnable what stands in a context, all or nothing, unless that
// failed.
func (d *Device) executables(gs []*ir.Graph, lows []*lowered, graphs []*native.Graph, in *room, failed error) (es []static.Executable, err error) {
	if in.context == nil {
		return nil, failed
	}
	defer func() { err = errors.Join(err, d.release(in)) }()
	if failed != nil {
		return nil, failed
	}
	for i, made := range graphs {
		d.join(in)
		e, err := d.executable(gs[i], lows[i], made, in)
		es = append(es, e)
		if err != nil {
			for _, e := range es {
				err = errors.Join(err, e.Close())
			}
			return nil, err
		}
	}
	return es, nil
}

// join counts one more executable of a room.
func (d *Device) join(r *room) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.live++
}

// read returns how each graph of a binary is executed: its tensors in the order in
// which a call binds them, by the numbers that the binary has for them.
func (d *Device) read(lows []*lowered, binary []byte) ([]native.Signature, error) {
	system, err := native.OpenSystem(filepath.Join(d.place.folder, "libQnnSystem.so"))
	if err != nil {
		return nil, err
	}
	m, err := system.Metadata(binary)
	if err != nil {
		return nil, err
	}
	chip, _ := find.ByModel(m.SoC) // of one that is not known, Fit compares nothing
	build, _ := find.ParseBuild(m.BuildID)
	if err := find.Fit("it", find.Target{Arch: chip.Arch, Build: build}, d.has()); err != nil {
		return nil, err
	}
	out := make([]native.Signature, len(lows))
	for i, low := range lows {
		at := slices.IndexFunc(m.Graphs, func(s native.Signature) bool { return s.Graph == low.desc.Name })
		if at < 0 {
			return nil, fmt.Errorf("it has no graph %s: another version of estream made it, of another package, or for other tiers: %w", low.desc.Name, lower.ErrUnsupported)
		}
		if out[i], err = match(low.desc, m.Graphs[at]); err != nil {
			return nil, fmt.Errorf("graph %s: %w", low.desc.Name, err)
		}
	}
	return out, nil
}

// match returns a graph's signature in the order of its description.
func match(d *native.Desc, made native.Signature) (native.Signature, error) {
	s := native.Signature{Graph: d.Name}
	for _, side := range []struct {
		want []native.Tensor
		have []native.Port
		to   *[]native.Port
	}{{d.Inputs(), made.In, &s.In}, {d.Outputs(), made.Out, &s.Out}} {
		for _, t := range side.want {
			i := slices.IndexFunc(side.have, func(p native.Port) bool { return p.Name == t.Name })
			if i < 0 || side.have[i].Type != t.Type || !slices.Equal(side.have[i].Dims, t.Dims) || len(side.have) != len(side.want) {
				return s, fmt.Errorf("its tensors are not those of this graph, as %s %s%v: another version of estream made it, or values are tapped: %w", t.Name, t.Type, t.Dims, lower.ErrUnsupported)
			}
			*side.to = append(*side.to, native.Port{Tensor: t, ID: side.have[i].ID})
		}
	}
	return s, nil
}
