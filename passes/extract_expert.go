package passes

import (
	"fmt"
	"slices"
	"strings"

	"estream/ir"
)

// extractExperts makes each body a callee that works on routed rows:
//
//	x f32[T,H], rows i32[R], w f32[R], y f32[T,H]: gather, body, scale by w, add into y
//
// Bodies that print equal share one.
func extractExperts(m *ir.Module, r *Report) error {
	x := extractor{m: m, r: r, callee: map[string]string{}}
	for _, c := range m.Callees() {
		x.add(c)
	}
	for _, g := range slices.Clone(m.Graphs) {
		for _, v := range g.Values {
			if v.Body == nil {
				continue
			}
			if err := x.extract(g, v); err != nil {
				return fmt.Errorf("graph %s: %s: %w", g.Name, v.Label(), err)
			}
		}
	}
	return nil
}

type extractor struct {
	m      *ir.Module
	r      *Report
	first  string            // text of the first class
	callee map[string]string // name, by text
}

func (x *extractor) add(c *ir.Graph) {
	text := classText(c)
	if len(x.callee) == 0 {
		x.first = text
	}
	x.callee[text] = c.Name
}

func (x *extractor) extract(g *ir.Graph, v *ir.Value) error {
	c, err := callee(v)
	if err != nil {
		return err
	}
	text := classText(c)
	if x.callee[text] == "" {
		for i := 0; c.Name == "" || x.m.Graph(c.Name) != nil; i++ {
			c.Name = fmt.Sprintf("expert%d", i)
		}
		x.add(c)
		x.m.Graphs = append(x.m.Graphs, c)
		x.r.class(Class{c.Name, g.Name, difference(x.first, text)})
	}
	v.Body, v.Attr = nil, ir.ExpertsAttr{Callee: x.callee[text]}
	return nil
}

// callee returns the graph, without a name, that does for routed rows what v's
// body does for rows.
func callee(v *ir.Value) (*ir.Graph, error) {
	body, c := v.Body.Clone(), &ir.Graph{}
	add := func(name string, op *ir.Op, t ir.Type, attr any, args ...*ir.Value) *ir.Value {
		w := &ir.Value{ID: len(c.Values) + 1, Name: name, Origin: origin("extract-expert", v), Op: op, Type: t, Attr: attr, Args: args}
		c.Values = append(c.Values, w)
		return w
	}
	all := ir.Tensor(ir.F32, ir.T, v.Type.Last())
	some := ir.Tensor(ir.F32, ir.R, v.Type.Last())
	x := add("x", ir.Input, all, nil)
	rows := add("rows", ir.Input, ir.Tensor(ir.I32, ir.R), nil)
	w := add("w", ir.Input, ir.Tensor(ir.F32, ir.R), nil)
	y := add("y", ir.Input, all, nil)
	in, result := body.Inputs()[0], body.Outputs[0]
	gathered := add("", ir.GatherRows, some, nil, x, rows)
	for _, b := range body.Values {
		if b == in {
			continue
		}
		if c.Value(b.Name) != nil {
			return nil, fmt.Errorf("its body names a value %q, as an input of extracted experts is named", b.Name)
		}
		replace(b.Args, in, gathered)
		c.Values = append(c.Values, b)
	}
	if result == in {
		result = gathered
	}
	scaled := add("", ir.ScaleRows, some, nil, result, w)
	c.Outputs = []*ir.Value{add("", ir.ScatterAdd, all, ir.InplaceAttr{Inplace: 0}, y, scaled, rows)}
	c.Renumber()
	return c, nil
}

func replace(vs []*ir.Value, old, with *ir.Value) {
	for i, v := range vs {
		if v == old {
			vs[i] = with
		}
	}
}

// classText prints graphs so that those of one class print equal: numbered, and
// without origins, which tell of the layer they were made from.
func classText(gs ...*ir.Graph) string {
	var b strings.Builder
	for _, g := range gs {
		c := g.Clone()
		c.Renumber()
		for _, v := range c.Values {
			v.Origin = ""
		}
		_, text, _ := strings.Cut(c.String(), "\n")
		b.WriteString(phaseOf(g.Name) + "\n" + text)
	}
	return b.String()
}

// difference returns the first lines in which two classes differ; "" if none do.
func difference(first, other string) string {
	a, b := strings.Split(first, "\n"), strings.Split(other, "\n")
	for i := range max(len(a), len(b)) {
		x, y := line(a, i), line(b, i)
		if x != y {
			return fmt.Sprintf("%q, the first class has %q", y, x)
		}
	}
	return ""
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return strings.TrimSpace(lines[i])
	}
	return "nothing"
}
