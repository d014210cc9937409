package qnn

import (
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/native"
	"estream/lower/static"
)

// Fix implements static.Fixer: a context of graphs with weights inside. HTP's is
// prepared by the child, if there is one. HTP keeps the numbers that codes stand for,
// 16 bits each, in each graph; a16w8 keeps the codes.
func (d *Device) Fix(ctx context.Context, gs []*ir.Graph, p lower.Packing, weights [][]lower.Buffer) ([]static.Executable, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	lows, err := d.lowerAll(gs, p)
	for i := 0; i < len(lows) && err == nil; i++ {
		if lows[i], err = lows[i].fixed(weights[i]); err != nil {
			err = fmt.Errorf("%s: graph %s: %w", d.name, gs[i].Name, err)
		}
	}
	if err != nil {
		return nil, err
	}
	binary, err := d.prepare(ctx, lows)
	if err != nil {
		return nil, err
	}
	build := func(gs []*ir.Graph, lows []*lowered) ([]static.Executable, error) { return d.buildAll(ctx, gs, lows) }
	if binary != nil {
		build = func(gs []*ir.Graph, lows []*lowered) ([]static.Executable, error) { return d.load(gs, lows, binary) }
	}
	es, err := build(gs, lows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return es, nil
}

// buildAll makes graphs in a context of their own.
func (d *Device) buildAll(ctx context.Context, gs []*ir.Graph, lows []*lowered) ([]static.Executable, error) {
	in := &room{live: 1} // this function's part
	graphs := make([]*native.Graph, len(lows))
	tell(ctx, d.compiling(d.place.soc, len(lows)))
	defer tell(ctx, Step{})
	err := d.thread.do(func() (err error) {
		if in.context, err = d.backend.NewContext(); err != nil {
			return err
		}
		for i := 0; i < len(lows) && err == nil; i++ {
			graphs[i], err = in.context.Build(lows[i].desc, native.GraphOptions{})
		}
		return err
	})
	return d.executables(gs, lows, graphs, in, err)
}

// fixed returns l with weights that are part of the graph, in place of inputs that
// each run binds. It computes what l does.
func (l *lowered) fixed(weights []lower.Buffer) (*lowered, error) {
	d := *l.desc
	d.Tensors = slices.Clone(d.Tensors)
	f := &lowered{desc: &d, out: l.out}
	at := 0
	for i := range d.Tensors {
		t := &d.Tensors[i]
		if t.Kind != native.AppWrite {
			continue
		}
		b := l.in[at]
		if at++; !b.weight {
			f.in = append(f.in, b)
			continue
		}
		data, err := b.fix(weights[b.i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		t.Kind, t.Data = native.Static, data
	}
	return f, nil
}

// fix returns the bytes of a weight's input, for good.
func (b binding) fix(w lower.Buffer) ([]byte, error) {
	b.place = 0
	data := make([]byte, b.bytes)
	bound, err := b.bind(w.Bytes(), w.Factor, data)
	if err == nil && !b.made() {
		copy(data, bound)
	}
	return data, err
}
