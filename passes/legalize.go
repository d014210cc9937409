package passes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
)

// A Target is what a package's module is opened for.
type Target struct {
	Backend lower.Backend // runs every graph that it supports; nil: Host
	Host    lower.Backend // runs the rest; nil: Backend, which then is not static

	// Static says that Backend runs graphs of fixed extents only: those of Tiers.
	Static bool
	Tiers  Tiers

	// Activation returns the type, a8 or a8g128, that Host wants x in where a
	// matmul multiplies it by a weight of type w; ir.Invalid, or a nil function,
	// leaves it as it is. Rows that groups of 128 do not divide are a8.
	Activation func(w ir.DType) ir.DType

	Report *Report // nil, or takes the graphs that stay on Host and why
}

// legalize places each graph on a backend, adds the static forms of those that
// a static backend runs, and quantizes activations of those that Host runs.
func (t Target) legalize(m *ir.Module) error {
	switch {
	case t.Host == nil && (t.Backend == nil || t.Static):
		return fmt.Errorf("the target has no backend for the host")
	case t.Host == nil:
		t.Host = t.Backend
	case t.Backend == nil:
		t.Backend = t.Host
	}
	for _, g := range m.Graphs {
		if !strings.Contains(g.Name, "@") {
			g.On = ""
		}
	}
	if t.Backend.Name() != t.Host.Name() {
		if err := t.place(m); err != nil {
			return err
		}
	}
	if t.Activation != nil {
		if err := t.quantize(m); err != nil {
			return err
		}
	}
	return t.check(m)
}

// place sets On of the graphs that t.Backend runs: of experts phases, where it
// runs their callee. A graph stays on the host whole if one value of it must.
func (t Target) place(m *ir.Module) error {
	for _, g := range t.candidates(m) {
		static, err := t.form(m, g)
		if errors.Is(err, lower.ErrUnsupported) {
			t.Report.hosted(Hosted{g.Name, err})
			continue
		}
		if err != nil {
			return err
		}
		g.On = t.Backend.Name()
		if static != nil {
			static.On = g.On
			m.Graphs = append(m.Graphs, static)
		}
	}
	for _, g := range m.Graphs {
		if c := m.Graph(g.Callee()); c != nil {
			g.On = c.On
		}
	}
	return nil
}

// candidates returns the graphs that t.Backend may run. Routing stays on the
// host, for one rule of ties and NaN; so do graphs that were made for the host
// already, and, where t is static, those whose rows have no tiers.
func (t Target) candidates(m *ir.Module) []*ir.Graph {
	gs := m.Callees()
	for i, class := range m.Layers {
		if slices.Contains(m.Layers[:i], class) {
			continue
		}
		for _, g := range ClassGraphs(m, class) {
			if p := phaseOf(g.Name); p != RoutePhase && p != ExpertsPhase {
				gs = append(gs, g)
			}
		}
	}
	for _, name := range []string{EmbedGraph, HeadNorm, HeadProj} {
		if g := m.Graph(name); g != nil && (!t.Static || name != EmbedGraph && len(t.Tiers.L) > 0 && len(t.Tiers.P) > 0) {
			gs = append(gs, g)
		}
	}
	quantized := func(v *ir.Value) bool { return v.Type.DType.Activation() }
	return slices.DeleteFunc(gs, func(g *ir.Graph) bool { return slices.ContainsFunc(g.Values, quantized) })
}

// form returns no error if t.Backend supports g: g itself, or the static form that
// is returned too, unless m has one. Where it does not, the error wraps
// lower.ErrUnsupported.
func (t Target) form(m *ir.Module, g *ir.Graph) (*ir.Graph, error) {
	if !t.Static {
		return nil, unsupported(t.Backend, g)
	}
	if slices.ContainsFunc(m.Graphs, func(s *ir.Graph) bool { return strings.HasPrefix(s.Name, g.Name+"@") }) {
		return nil, nil
	}
	s, err := staticForm(g)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, lower.ErrUnsupported)
	}
	tiers, err := t.Tiers.bind(s)
	if err != nil {
		return nil, err
	}
	for _, tier := range tiers {
		if err := unsupported(t.Backend, tier); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// unsupported returns the reasons why b cannot run g, one a value, or nil.
func unsupported(b lower.Backend, g *ir.Graph) error {
	var errs []error
	for _, v := range g.Values {
		if isSource(v) || v.Op == ir.Experts {
			continue // bound by the call; run as its callee
		}
		if err := b.Supports(v); err != nil {
			errs = append(errs, fmt.Errorf("graph %s: %s: %s: %s: %w", g.Name, v.Label(), signature(v), b.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// check reports every value of every host graph that the host does not support.
func (t Target) check(m *ir.Module) error {
	var errs []error
	for _, g := range m.Graphs {
		if g.On != "" {
			continue
		}
		if err := unsupported(t.Host, g); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("no backend can run these values; pack with another --encoding if it is a type, add a function to backend %s by a plug-in if it is an operator:\n%w",
		t.Host.Name(), errors.Join(errs...))
}

// signature prints the types that v maps: "f32[T,64], w8[8,64] -> f32[T,8]".
func signature(v *ir.Value) string {
	var in []string
	for _, a := range v.Args {
		in = append(in, a.Type.String())
	}
	return strings.Join(in, ", ") + " -> " + v.Type.String()
}
