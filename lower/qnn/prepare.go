package qnn

import (
	"context"
	"fmt"
	"hash/crc32"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
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
	s, child := d.compiling(at.soc, len(job.Graphs)), d.options.Child
	child.At = s.by(ctx, job.Graphs)
	tell(ctx, s)
	defer tell(ctx, Step{})
	r, err := child.Run(ctx, job)
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
