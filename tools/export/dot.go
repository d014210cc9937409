package export

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"estream/ir"
)

// DOT writes m as a directed graph in the language of Graphviz. Each graph is a
// cluster, within the cluster of its layers' class where it has one; solid edges
// are operands, dashed ones go from graph to graph.
func DOT(w io.Writer, m Model) error {
	d := drawing{m: m.Module, callees: m.Module.Callees(), ids: map[*ir.Value]string{}, clusters: clusters(m.Module)}
	d.line("digraph %s {", quote(m.Name))
	d.line(`  compound=true; rankdir=TB; nodesep=0.2; ranksep=0.3; fontname="Helvetica"; labeljust=l;`)
	d.line(`  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=10, margin="0.08,0.04", color="#5b6b7b", fillcolor="#ffffff"];`)
	d.line(`  edge [color="#5b6b7b", arrowsize=0.6, fontname="Helvetica", fontsize=9];`)
	cs := classes(m.Module)
	for _, g := range m.Module.Graphs {
		c := slices.IndexFunc(cs, func(c class) bool { return slices.Contains(c.graphs, g) })
		switch {
		case c < 0:
			d.graph("  ", g, d.title(g))
		case cs[c].graphs[0] == g && len(cs[c].graphs) == 1:
			d.graph("  ", g, d.title(g)+sharing(cs[c]))
		case cs[c].graphs[0] == g:
			d.class(cs[c])
		}
	}
	d.crossings()
	d.line("}")
	_, err := io.WriteString(w, d.text.String())
	return err
}

type drawing struct {
	m        *ir.Module
	callees  []*ir.Graph
	ids      map[*ir.Value]string
	clusters map[*ir.Graph]string
	text     strings.Builder
}

// clusters names the clusters of graphs, and of bodies, which may share a name.
func clusters(m *ir.Module) map[*ir.Graph]string {
	out := map[*ir.Graph]string{}
	for _, g := range m.Graphs {
		out[g] = "cluster " + g.Name
		for _, v := range g.Values {
			if v.Body != nil {
				out[v.Body] = fmt.Sprintf("cluster %s %s", g.Name, v)
			}
		}
	}
	return out
}

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

// sharing says how many layers have a class.
func sharing(c class) string {
	if len(c.layers) == 1 {
		return fmt.Sprintf("\nlayer %d", c.layers[0])
	}
	return fmt.Sprintf("\n%d layers: %s", len(c.layers), Ranges(c.layers))
}

// title is what stands on the cluster of a graph.
func (d *drawing) title(g *ir.Graph) string {
	title := g.Name
	if g.On != "" {
		title += " on " + g.On
	}
	switch {
	case slices.Contains(d.callees, g):
		title += "\none expert: its weights are bound when it is called"
	case strings.HasSuffix(g.Name, earlySuffix):
		title += "\nguesses what route will choose"
	}
	return title
}

func (d *drawing) class(c class) {
	d.line("  subgraph %s {", quote("cluster class "+c.name))
	d.line(`    label=%s; style="filled,rounded"; color="#9aa7b4"; fillcolor="#f3f5f7"; fontsize=14;`, left(c.name+sharing(c)))
	for _, g := range c.graphs {
		d.graph("    ", g, d.title(g))
	}
	d.line("  }")
}

// graph draws the cluster of a graph, or of a body.
func (d *drawing) graph(indent string, g *ir.Graph, title string) {
	d.line("%ssubgraph %s {", indent, quote(d.clusters[g]))
	d.line(`%s  label=%s; style="filled,rounded"; color="#9aa7b4"; fillcolor="#fafbfc"; fontsize=12;`, indent, left(title))
	for _, v := range g.Values {
		d.ids[v] = quote(d.clusters[g] + " " + v.String())
		d.value(indent+"  ", v, slices.Contains(g.Outputs, v))
		if v.Body != nil {
			d.graph(indent+"  ", v.Body, "body of "+v.Label())
			if len(v.Body.Values) > 0 {
				d.line("%s  %s -> %s [style=dashed, lhead=%s];", indent, d.ids[v], d.ids[v.Body.Values[0]], quote(d.clusters[v.Body]))
			}
		}
	}
	for _, v := range g.Values {
		for _, a := range v.Args {
			d.line("%s  %s -> %s;", indent, d.ids[a], d.ids[v])
		}
	}
	d.line("%s}", indent)
}

// value draws a value: what it is called, what makes it, and its type.
func (d *drawing) value(indent string, v *ir.Value, output bool) {
	first := v.Op.Name
	if v.Name != "" {
		first = v.Name
		if !isGiven(v) && v.Name != v.Op.Name {
			first += " = " + v.Op.Name
		}
	}
	lines := []string{first}
	for _, a := range v.Fields() {
		lines = append(lines, a.String())
	}
	style := ""
	switch {
	case v.Op == ir.Input:
		style = `, fillcolor="#e3ecf7", shape=ellipse, style=filled`
	case v.Op == ir.Weight:
		style = `, fillcolor="#f0eee4", style=filled`
	case v.Op == ir.Experts:
		style = `, fillcolor="#f7dcc9"`
	}
	if output {
		style += ", penwidth=2"
	}
	lines = append(lines, v.Type.String())
	d.line("%s%s [label=%s%s];", indent, d.ids[v], quote(strings.Join(lines, "\n")), style)
}

// crossings draws what goes from graph to graph, each once however many layers it
// does so in, and experts to their callee.
func (d *drawing) crossings() {
	drawn := map[string]bool{}
	for _, c := range flowOf(d.m).calls {
		for i, v := range c.graph.Inputs() {
			p := c.in[i]
			if p.graph == nil {
				continue
			}
			style := "style=dashed"
			if slices.Index(d.m.Graphs, p.graph) >= slices.Index(d.m.Graphs, c.graph) {
				style += `, constraint=false, color="#b06a2c", label="next layer"`
			}
			edge := fmt.Sprintf("  %s -> %s [%s];", d.ids[p.value], d.ids[v], style)
			if !drawn[edge] {
				drawn[edge] = true
				d.line("%s", edge)
			}
		}
	}
	for _, g := range d.m.Graphs {
		callee := d.m.Graph(g.Callee())
		if callee == nil || len(callee.Values) == 0 {
			continue
		}
		for _, v := range g.Values {
			if v.Op == ir.Experts {
				d.line("  %s -> %s [style=dashed, lhead=%s, label=\"runs\"];", d.ids[v], d.ids[callee.Values[0]], quote(d.clusters[callee]))
			}
		}
	}
}

// quote is a string of DOT, whose lines are centred.
func quote(s string) string { return `"` + escape(s, `\n`) + `"` }

// left is a string of DOT, whose lines start at the left.
func left(s string) string { return `"` + escape(s+"\n", `\l`) + `"` }

func escape(s, newline string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", newline).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
