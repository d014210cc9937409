package passes

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
)

// keys is the second extent of a static graph's mask: S+T.
var keys = ir.Dim{Sym: "ST"}

// bindDims puts, for each static graph, one graph a tier in its place:
// "c0.body@T8,S16", "expert0@R4", and for experts "expert0@R4,G2".
func (t Tiers) bindDims(m *ir.Module) error {
	var done []*ir.Graph
	for _, g := range m.Graphs {
		if !strings.HasSuffix(g.Name, staticSuffix) {
			done = append(done, g)
			continue
		}
		if slices.Contains(m.Layers, g.Name) || slices.Contains(m.Callees(), g) {
			return fmt.Errorf("graph %s: it is a layer, or experts call it, so no others can take its place", g.Name)
		}
		tiers, err := t.bind(g)
		if err != nil {
			return fmt.Errorf("graph %s: %w", g.Name, err)
		}
		done = append(done, tiers...)
		if x := m.Graph(strings.TrimSuffix(g.Name, staticSuffix)); x != nil && addsRows(x) {
			if tiers, err = t.group(tiers); err != nil {
				return fmt.Errorf("graph %s: %w", g.Name, err)
			}
			done = append(done, tiers...)
		}
	}
	m.Graphs = done
	return nil
}

// bind returns a static graph once for each combination of the tiers of its symbols.
func (t Tiers) bind(g *ir.Graph) ([]*ir.Graph, error) {
	all, syms := []lower.Dims{{}}, symbols(g)
	for _, axis := range t.axes() {
		if !syms[axis.sym] {
			continue
		}
		sizes := slices.Compact(slices.Sorted(slices.Values(axis.sizes)))
		if len(sizes) == 0 || sizes[0] < 1 {
			return nil, fmt.Errorf("the target's tiers of %s are %v: want one or more, all positive", axis.sym, axis.sizes)
		}
		var dims []lower.Dims
		for _, d := range all {
			for _, n := range sizes {
				d = maps.Clone(d)
				d[axis.sym] = n
				dims = append(dims, d)
			}
		}
		all = dims
	}
	var gs []*ir.Graph
	for _, d := range all {
		name := tierName(strings.TrimSuffix(g.Name, staticSuffix), d)
		d[keys.Sym] = d[ir.S.Sym] + d[ir.T.Sym]
		b, err := bindGraph(g, d)
		if err != nil {
			return nil, err
		}
		b.Name = name
		gs = append(gs, b)
	}
	return gs, nil
}

// symbols returns the symbols of the extents of g's inputs and weights.
func symbols(g *ir.Graph) map[string]bool {
	syms := map[string]bool{}
	var add func(t ir.Type)
	add = func(t ir.Type) {
		for _, d := range t.Dims {
			syms[d.Sym] = d.Sym != ""
		}
		for _, p := range t.Parts {
			add(p)
		}
	}
	for _, v := range append(g.Inputs(), g.Weights()...) {
		add(v.Type)
	}
	return syms
}

// bindGraph returns g with numbers for the symbols of its types and attributes.
func bindGraph(g *ir.Graph, dims lower.Dims) (*ir.Graph, error) {
	b := g.Clone()
	for _, v := range b.Values {
		var err error
		if v.Type, err = dims.Bind(v.Type); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Label(), err)
		}
		if v.Attr == nil {
			continue
		}
		attr := reflect.New(reflect.TypeOf(v.Attr)).Elem()
		attr.Set(reflect.ValueOf(v.Attr))
		if err := bindFields(attr, dims); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Label(), err)
		}
		v.Attr = attr.Interface()
	}
	return b, nil
}

// bindFields binds the extents in the fields of an attribute, those of embedded
// structs too.
func bindFields(attr reflect.Value, dims lower.Dims) error {
	for i := range attr.NumField() {
		f := attr.Field(i)
		if f.Kind() == reflect.Struct {
			if err := bindFields(f, dims); err != nil {
				return err
			}
		}
		if f.Type() != reflect.TypeFor[[]ir.Dim]() {
			continue
		}
		t, err := dims.Bind(ir.Type{Dims: f.Interface().([]ir.Dim)})
		if err != nil {
			return err
		}
		f.Set(reflect.ValueOf(t.Dims))
	}
	return nil
}
