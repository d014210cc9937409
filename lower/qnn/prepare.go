package qnn

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
	"estream/lower/static"
)

// Prepare implements static.Preparer: the child makes the graphs in one context,
// and returns HTP's context binary. The CPU's library has none: the child has then
// shown that the graphs can be made. Without a child nothing is done.
func (d *Device) Prepare(ctx context.Context, gs []*ir.Graph, p lower.Packing) ([]byte, error) {
	if len(d.options.Child.Command) == 0 {
		return nil, nil
	}
	lows, err := d.lowerAll(gs, p)
	if err != nil {
		return nil, err
	}
	return d.prepare(ctx, lows)
}

func (d *Device) prepare(ctx context.Context, lows []*lowered) ([]byte, error) {
	if len(d.options.Child.Command) == 0 {
		return nil, nil
	}
	at, err := d.find()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	job := &native.Job{Library: at.library, Start: native.Options{SoC: at.soc.Model}, Binary: d.half()}
	for _, low := range lows {
		job.Graphs = append(job.Graphs, *low.desc)
	}
	r, err := d.options.Child.Run(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("%s: prepare %d graphs: %w", d.name, len(lows), err)
	}
	return r.Binary, nil
}

func (d *Device) lowerAll(gs []*ir.Graph, p lower.Packing) ([]*lowered, error) {
	lows := make([]*lowered, len(gs))
	for i, g := range gs {
		err := d.check(g, p)
		if err == nil {
			lows[i], err = d.lower(g)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: graph %s: %w", d.name, g.Name, err)
		}
		lows[i].desc.Name = sealed(lows[i].desc)
	}
	return lows, nil
}

// sealed is a graph's name and a checksum of all that it is, by which a binary has it:
// one that another version of estream made of the same inputs is not taken for it.
func sealed(d *native.Desc) string {
	sum := crc32.NewIEEE()
	fmt.Fprint(sum, *d)
	return fmt.Sprintf("%s#%08x", d.Name, sum.Sum32())
}

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
		for _, e := range es {
			err = errors.Join(err, e.Close())
		}
		return nil, fmt.Errorf("%s: context binary: %w", d.name, err)
	}
	return es, nil
}

// load returns what it made, of some graphs if there is an error.
func (d *Device) load(gs []*ir.Graph, lows []*lowered, binary []byte) (es []static.Executable, err error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	signatures, err := d.read(lows, binary)
	if err != nil {
		return nil, err
	}
	in := &room{live: 1} // this function's part
	graphs := make([]*native.Graph, len(signatures))
	err = d.thread.do(func() error {
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

// executables makes runnable what stands in a context, unless that failed: then it
// frees it. It returns what it made, of some graphs if there is an error.
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
			return es, err
		}
	}
	return es, err
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
			return nil, fmt.Errorf("it has no graph %s: another version of estream made it, of another package, or for other tiers: prepare the package again: %w", low.desc.Name, lower.ErrUnsupported)
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
				return s, fmt.Errorf("its tensors are not those of this graph, as %s %s%v: another version of estream made it, or values are tapped: prepare the package again: %w", t.Name, t.Type, t.Dims, lower.ErrUnsupported)
			}
			*side.to = append(*side.to, native.Port{Tensor: t, ID: side.have[i].ID})
		}
	}
	return s, nil
}

// has is what binaries must be for.
func (d *Device) has() find.Target { return find.Target{Arch: d.place.soc.Arch, Build: d.place.build} }

// Target implements static.Preparer: a generation of HTP, such as v79, and a build
// of QAIRT. The CPU has none.
func (d *Device) Target() (arch, sdk string, err error) {
	if !d.half() {
		return "", "", fmt.Errorf("%s has no context binaries: %w", d.name, lower.ErrUnsupported)
	}
	if err := d.Open(); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("v%d", d.place.soc.Arch), d.place.build.String(), nil
}

// Fits implements static.Preparer.
func (d *Device) Fits(arch, sdk string) error {
	if _, _, err := d.Target(); err != nil {
		return err
	}
	var made find.Target
	if _, err := fmt.Sscanf(arch, "v%d", &made.Arch); err != nil {
		return fmt.Errorf("%s: a context binary for %q, which is no generation of HTP such as v79", d.name, arch)
	}
	build, err := find.ParseBuild(sdk)
	if err != nil {
		return fmt.Errorf("%s: a context binary: %w", d.name, err)
	}
	made.Build = build
	return find.Fit(d.name+": a context binary", made, d.has())
}
