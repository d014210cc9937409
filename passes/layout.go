package passes

import (
	"fmt"

	"estream/ir"
	"estream/lower"
)

// layout sets the offset of each weight in its record: weights in the order of
// the graphs that share the record and, within one, as they stand, each name
// once, at multiples of lower.Align.
func layout(m *ir.Module, p lower.Packing) error {
	for _, l := range m.Layers {
		if m.Graph(l) != nil {
			return fmt.Errorf("layer %s is one graph: split comes first", l)
		}
	}
	for _, o := range owners(m) {
		r, err := o.record(p)
		if err == nil {
			err = r.place(r.next)
		}
		if err != nil {
			return fmt.Errorf("record %s: %w", o.class, err)
		}
		for _, w := range r.Weights {
			for _, v := range o.weights[w.Name] {
				v.Attr = ir.WeightAttr{Offset: int(w.Offset)}
			}
		}
	}
	return nil
}

// An owner is graphs whose weights share a record.
type owner struct {
	class   string
	graphs  []*ir.Graph
	weights map[string][]*ir.Value // by name, once record has run
}

// owners returns the owners of m's records: callees, then classes of layers, then
// the head's parts.
func owners(m *ir.Module) []*owner {
	var os []*owner
	known := map[string]bool{}
	add := func(class string, gs ...*ir.Graph) {
		if len(gs) > 0 && gs[0] != nil && !known[class] {
			known[class] = true
			os = append(os, &owner{class: class, graphs: gs})
		}
	}
	for _, c := range m.Callees() {
		add(c.Name, c)
	}
	for _, class := range m.Layers {
		gs := ClassGraphs(m, class)
		if e := m.Graph(class + "." + EarlyPhase); e != nil {
			gs = append(gs, e)
		}
		add(class, gs...)
	}
	for _, h := range []string{HeadNorm, HeadProj} {
		add(h, m.Graph(h))
	}
	return os
}

// record returns o's weights and their sizes, no places given yet. Weights of one
// name must be one weight.
func (o *owner) record(p lower.Packing) (Record, error) {
	r := Record{Class: o.class}
	o.weights = map[string][]*ir.Value{}
	index := map[string]int{}
	for _, g := range o.graphs {
		for _, v := range g.Weights() {
			w := RecordWeight{Name: v.Name, Type: v.Type, Matrix: lower.IsMatrix(g, v)}
			if err := o.check(g, v); err != nil {
				return r, err
			}
			o.weights[v.Name] = append(o.weights[v.Name], v)
			if i, ok := index[v.Name]; ok {
				if old := r.Weights[i]; !old.Type.Equal(w.Type) || old.Matrix != w.Matrix {
					return r, fmt.Errorf("graph %s: weight %s is not read as in an earlier graph: once as a matrix and once plain, or as two types", g.Name, v.Name)
				}
				continue
			}
			var err error
			if w.Size, err = weightSize(p, w); err != nil {
				return r, fmt.Errorf("weight %s: %w", v.Name, err)
			}
			index[v.Name] = len(r.Weights)
			r.Weights = append(r.Weights, w)
		}
	}
	return r, nil
}

// check reports a weight that no record can hold.
func (o *owner) check(g *ir.Graph, v *ir.Value) error {
	if v.Name == "" {
		return fmt.Errorf("graph %s: weight %s has no name to be bound by", g.Name, v)
	}
	for _, d := range v.Type.Dims {
		if d.Sym != "" && o.class != HeadProj {
			return fmt.Errorf("graph %s: weight %s: type %s has a symbol", g.Name, v.Name, v.Type)
		}
	}
	return nil
}

// checkOffsets reports a weight that stands at different offsets in two graphs.
func (o *owner) checkOffsets() error {
	for _, g := range o.graphs {
		for _, v := range g.Weights() {
			if first := o.weights[v.Name][0]; offsetOf(first) != offsetOf(v) {
				return fmt.Errorf("graph %s: weight %s at offset %d, elsewhere at %d: was the layout pass run?", g.Name, v.Name, offsetOf(v), offsetOf(first))
			}
		}
	}
	return nil
}
