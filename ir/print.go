package ir

import (
	"fmt"
	"strings"
)

// String prints m in the form Parse reads: a line that names the layers' graphs,
// then each graph, one value a line:
//
//	graph NAME [on BACKEND]
//	  %ID[:NAME] = OP %ARG... field=value... : TYPE [slot N] [from ORIGIN]
func (m *Module) String() string {
	var b strings.Builder
	if len(m.Layers) > 0 {
		fmt.Fprintf(&b, "layers %s\n", strings.Join(m.Layers, " "))
	}
	for i, g := range m.Graphs {
		if i > 0 || len(m.Layers) > 0 {
			b.WriteByte('\n')
		}
		g.print(&b, "")
	}
	return b.String()
}

// String prints g as it stands in a module.
func (g *Graph) String() string {
	var b strings.Builder
	g.print(&b, "")
	return b.String()
}

func (g *Graph) print(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%sgraph %s", indent, g.Name)
	if g.On != "" {
		fmt.Fprintf(b, " on %s", g.On)
	}
	b.WriteByte('\n')
	for _, v := range g.Values {
		fmt.Fprintf(b, "%s  %s\n", indent, v.line())
		if v.Body != nil {
			v.Body.print(b, indent+"    ")
		}
	}
	fmt.Fprintf(b, "%s  return%s\n", indent, refs(g.Outputs))
}

func refs(vs []*Value) string {
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, " %s", v)
	}
	return b.String()
}

func (v *Value) line() string {
	s := v.String()
	if v.Name != "" {
		s += ":" + v.Name
	}
	s += " = " + v.Op.Name + refs(v.Args)
	for _, f := range v.Fields() {
		s += " " + f.String()
	}
	s += " : " + v.Type.String()
	if v.Slot != 0 {
		s += fmt.Sprintf(" slot %d", v.Slot)
	}
	if v.Origin != "" {
		s += " from " + v.Origin
	}
	return s
}
