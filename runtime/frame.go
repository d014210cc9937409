package runtime

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// A frame is where the values that cross the phases of one class stand. Full
// values have room for all tokens of the batch, chunk values for one chunk of
// rows: those that only route reads, right after body.
type frame struct {
	values []framed
	reuse  bool   // the layer's output may stand where its input did
	stream string // the residual stream once routes are known
}

type framed struct {
	name  string
	typ   ir.Type
	chunk bool
}

// layerInputs are the names that a layer's caller gives.
var layerInputs = []string{"x", "pos", "seq", "past", "base", "parent", "state"}

// newFrame finds the values of the class's frame; those in taps have all rows.
func (c *class) newFrame(taps []string) error {
	made := map[string]string{} // value to the phase that makes it
	for _, name := range passes.Phases() {
		p := c.phases[name]
		if p == nil {
			continue
		}
		for _, in := range p.graph.Inputs() {
			if made[in.Name] == "" && !slices.Contains(layerInputs, in.Name) {
				return fmt.Errorf("module: graph %s takes %q, which nothing before it makes", p.graph.Name, in.Name)
			}
		}
		for _, out := range p.graph.Outputs {
			if out.Name == "" {
				return fmt.Errorf("module: graph %s: output %s has no name", p.graph.Name, out)
			}
			made[out.Name] = name
			if out.Name == "y" || out.Type.DType == ir.State || slices.ContainsFunc(c.frame.values, func(f framed) bool { return f.name == out.Name }) {
				continue
			}
			c.frame.values = append(c.frame.values, framed{out.Name, out.Type, name == passes.BodyPhase && c.onlyRouteReads(out.Name) && !slices.Contains(taps, out.Name)})
		}
	}
	if made["y"] == "" {
		return fmt.Errorf("module: layer class %s makes no y", c.name)
	}
	c.frame.stream = c.residual(made)
	c.frame.reuse = made["y"] == passes.TailPhase && !c.reads("x", passes.SidePhase, passes.ExpertsPhase, passes.TailPhase)
	return nil
}

func (c *class) reads(name string, phases ...string) bool {
	return slices.ContainsFunc(phases, func(p string) bool {
		if c.phases[p] == nil {
			return false
		}
		v := c.phases[p].graph.Value(name)
		return v != nil && v.Op == ir.Input
	})
}

func (c *class) onlyRouteReads(name string) bool {
	return c.reads(name, passes.RoutePhase) && !c.reads(name, passes.SidePhase, passes.ExpertsPhase, passes.TailPhase)
}

// rows is the extents of a frame's full and chunk values.
type rows struct{ all, chunk int }

// bytes returns the frame's size.
func (f frame) bytes(r rows) (int64, error) {
	n := int64(0)
	for _, v := range f.values {
		b, err := v.size(r)
		if err != nil {
			return 0, err
		}
		n += lower.RoundUp(b, lower.Align)
	}
	return n, nil
}

func (v framed) size(r rows) (int64, error) {
	t, err := v.bind(r)
	return lower.Size(t), err
}

func (v framed) bind(r rows) (ir.Type, error) {
	n := r.all
	if v.chunk {
		n = r.chunk
	}
	return lower.Dims{"T": n}.Bind(v.typ)
}

// place returns the frame's buffers in mem.
func (f frame) place(mem lower.Mem, r rows) (map[string]lower.Buffer, error) {
	env, off := map[string]lower.Buffer{}, int64(0)
	for _, v := range f.values {
		t, err := v.bind(r)
		if err != nil {
			return nil, err
		}
		env[v.name] = lower.Buffer{Mem: mem, Off: off, Len: lower.Size(t), Type: t}
		off += lower.RoundUp(lower.Size(t), lower.Align)
	}
	return env, nil
}
