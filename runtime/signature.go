package runtime

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/pager/layout"
	"estream/passes"
)

// A signature is the values that a graph may take from the runtime, by name. A
// package may come from anybody: what each of its graphs takes and gives is
// checked when it is opened, so that no run meets a graph that does not fit.
type signature map[string]ir.Type

// maxRow bounds the bytes that a token takes in a frame and a state, and
// maxVocab the logits of a row, so that no plan overflows.
const (
	maxRow   = 1 << 30
	maxVocab = 1 << 28
)

// checkSignatures checks the graphs of all classes and of both ends.
func (m *Model) checkSignatures() error {
	for _, c := range m.classes {
		if err := m.checkClass(c); err != nil {
			return err
		}
	}
	if err := m.checkEmbed(); err != nil {
		return err
	}
	return m.checkHead()
}

// takes checks the inputs of a graph.
func (s signature) takes(g *ir.Graph) error {
	for _, in := range g.Inputs() {
		t, ok := s[in.Name]
		switch {
		case !ok:
			return fmt.Errorf("module: graph %s takes %q, which it is not given", g.Name, in.Name)
		case !t.Equal(in.Type):
			return fmt.Errorf("module: graph %s takes %s as %s, and is given %s", g.Name, in.Name, in.Type, t)
		}
	}
	return nil
}

// gives checks that an output of a graph is a tensor with a row for each of rows,
// under a name that is its own.
func (s signature) gives(g *ir.Graph, out *ir.Value, rows ir.Dim) error {
	old, taken := s[out.Name]
	switch {
	case out.Name == "":
		return fmt.Errorf("module: graph %s: output %s has no name", g.Name, out)
	case taken && (slices.Contains(layerInputs, out.Name) || out.Name == "y" || !old.Equal(out.Type)):
		return fmt.Errorf("module: graph %s gives %s, which is there already", g.Name, out.Name)
	case out.Op == ir.Input || out.Op == ir.Weight:
		return fmt.Errorf("module: graph %s gives %s, which it does not compute", g.Name, out.Name)
	case !hasRows(out.Type, rows):
		return fmt.Errorf("module: graph %s gives %s as %s, want a row for each of %s", g.Name, out.Name, out.Type, rows)
	}
	s[out.Name] = out.Type
	return nil
}

// hasRows reports whether t's first extent is rows and the others are numbers.
func hasRows(t ir.Type, rows ir.Dim) bool {
	return t.Rank() > 0 && t.Dims[0] == rows && !slices.ContainsFunc(t.Dims[1:], func(d ir.Dim) bool { return d.Sym != "" })
}

// checkClass follows the values of a layer through its phases.
func (m *Model) checkClass(c *class) error {
	x, perSequence := ir.Tensor(ir.F32, ir.T, ir.N(m.hidden)), ir.Tensor(ir.I32, ir.B)
	s := signature{
		"x": x, "pos": ir.Tensor(ir.I32, ir.T), "seq": ir.Tensor(ir.I32, ir.Dim{N: 1, Sym: ir.B.Sym}),
		"past": perSequence, "base": perSequence, "parent": perSequence,
	}
	if c.state.DType == ir.State {
		s["state"] = c.state
	}
	for _, name := range passes.Phases() {
		p := c.phases[name]
		if p == nil {
			continue
		}
		if err := s.takes(p.graph); err != nil {
			return err
		}
		for _, out := range p.graph.Outputs {
			switch {
			case out.Type.DType != ir.State:
				if err := s.gives(p.graph, out, ir.T); err != nil {
					return err
				}
			case out.Name != "state.next" || !out.Type.Equal(c.state):
				return fmt.Errorf("module: graph %s gives a state %s as %s, want state.next as %s", p.graph.Name, out.Name, out.Type, c.state)
			}
		}
	}
	if !s["y"].Equal(x) {
		return fmt.Errorf("module: layer class %s gives y as %s, want %s", c.name, s["y"], x)
	}
	if err := c.checkExperts(s); err != nil {
		return err
	}
	c.checkEarly(x)
	return c.checkSize()
}

// checkExperts checks that the experts op takes values of the layer that have all
// rows, and that its callee takes what an expert is given, in that order.
func (c *class) checkExperts(s signature) error {
	if c.callee == nil {
		return nil
	}
	e, g := c.routed, c.callee.graph
	for i, a := range e.Args {
		if a.Op != ir.Input || i > 0 && slices.Contains(layerInputs, a.Name) {
			return fmt.Errorf("module: layer class %s: its experts take %s, which no phase before them makes", c.name, a)
		}
	}
	rows := ir.Tensor(ir.I32, ir.R)
	want := []struct {
		name string
		typ  ir.Type
	}{{"x", e.Args[0].Type}, {"rows", rows}, {"w", rows.WithDType(ir.F32)}, {"y", e.Type}}
	in := g.Inputs()
	for i, w := range want {
		if len(in) != len(want) || in[i].Name != w.name || !in[i].Type.Equal(w.typ) {
			return fmt.Errorf("module: graph %s is no expert of layer class %s: it must take x as %s, rows, w, and y as %s", g.Name, c.name, want[0].typ, want[3].typ)
		}
	}
	if len(g.Outputs) != 1 || g.Outputs[0].Op != ir.ScatterAdd || g.Outputs[0].Args[0] != in[3] {
		return fmt.Errorf("module: graph %s is no expert: it must add its rows to y and return it", g.Name)
	}
	return nil
}

// checkSize refuses states without a row for each position or sequence, and
// values that no memory holds.
func (c *class) checkSize() error {
	rows := ir.S
	if c.state.Kind == ir.Window {
		rows = ir.B
	}
	for _, t := range c.state.Parts {
		if !hasRows(t, rows) {
			return fmt.Errorf("module: layer class %s has a state %s, want a row for each of %s", c.name, c.state, rows)
		}
	}
	types := slices.Clone(c.state.Parts)
	for _, v := range c.frame.values {
		types = append(types, v.typ)
	}
	total := 0.0
	for _, t := range types {
		row := float64(t.DType.Bits()) / 8
		for _, d := range t.Dims {
			row *= float64(max(d.N, 1))
		}
		total += row
	}
	if total > maxRow {
		return fmt.Errorf("module: layer class %s takes %.3g bytes a token, more than %d", c.name, total, maxRow)
	}
	return nil
}

func (m *Model) checkEmbed() error {
	if m.region.Rows > maxVocab {
		return fmt.Errorf("table %s: %d rows, more than %d", m.region.Name, m.region.Rows, maxVocab)
	}
	g := m.embed.graph
	if err := (signature{"ids": ir.Tensor(ir.I32, ir.T)}).takes(g); err != nil {
		return err
	}
	want := ir.Tensor(ir.F32, ir.T, ir.N(m.hidden))
	if len(g.Outputs) != 1 || !g.Outputs[0].Type.Equal(want) || g.Outputs[0].Name == "ids" {
		return fmt.Errorf("module: graph embed must give one %s", want)
	}
	if table := g.Weights()[0].Type; table.Dims[0] != ir.U {
		return fmt.Errorf("module: graph embed: the table is %s, want a row for each of %s", table, ir.U)
	}
	return nil
}

// checkHead checks head.norm and head.proj; what the one gives, the other may take.
func (m *Model) checkHead() error {
	s := signature{"x": ir.Tensor(ir.F32, ir.L, ir.N(m.hidden))}
	if err := s.takes(m.norm.graph); err != nil {
		return err
	}
	for _, out := range m.norm.graph.Outputs {
		if err := s.gives(m.norm.graph, out, ir.L); err != nil {
			return err
		}
	}
	g := m.proj.graph
	if err := s.takes(g); err != nil {
		return err
	}
	for _, w := range g.Weights() {
		if w.Type.Rank() == 0 || w.Type.Dims[0] != ir.P {
			return fmt.Errorf("module: graph head.proj: weight %s is %s, and not a row for each of %s", w.Name, w.Type, ir.P)
		}
	}
	want := ir.Tensor(ir.F32, ir.L, ir.P)
	if len(g.Outputs) != 1 || !g.Outputs[0].Type.Equal(want) {
		return fmt.Errorf("module: graph head.proj must give one %s", want)
	}
	return nil
}

// checkStride checks that the experts of a layer stand one after another.
func checkStride(experts []layout.Record, align int64) error {
	for i, r := range experts {
		if want := experts[0].Offset + int64(i)*experts[0].Stride(align); r.Offset != want {
			return fmt.Errorf("expert %d of layer %d stands at offset %d, want %d, after the one before it", r.Index, r.Layer, r.Offset, want)
		}
	}
	return nil
}
