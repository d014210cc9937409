package page

import (
	"slices"
	"strings"

	"estream/ir"
	"estream/tools/export"
)

// A column is a module as the page shows it: layers whose graphs print equal are
// one graph.
type column struct {
	Name   string  `json:"name"`
	Doc    string  `json:"doc"`
	Graphs []graph `json:"graphs"`
}

// A graph stands for one or more of a module. Bodies are graphs too, after the
// value whose they are.
type graph struct {
	Name   string  `json:"n"`
	Layers string  `json:"l,omitempty"` // that have it, where it is a layer's or a class's
	Share  int     `json:"x,omitempty"` // how many those are
	On     string  `json:"on,omitempty"`
	Parent []int   `json:"p,omitempty"` // graph and value, of a body
	Values []value `json:"v"`
	Out    []int   `json:"out"`
}

// A value refers to others of its graph by their places.
type value struct {
	ID   int    `json:"i"`
	Name string `json:"n,omitempty"`
	Op   string `json:"o"`
	Type string `json:"t"`
	Args []int  `json:"a,omitempty"`
	Attr string `json:"k,omitempty"`
	Slot int    `json:"s,omitempty"`
	From []int  `json:"f,omitempty"` // graph and value in the column before
	Made bool   `json:"m,omitempty"` // by this pass, of From
}

// columns turns stages into columns whose values know where they come from.
func columns(stages []stage) []column {
	var out []column
	var before map[*ir.Value][]int
	for _, st := range stages {
		c := collector{column: column{Name: st.name, Doc: st.doc}, at: map[*ir.Value][]int{}, stage: st, before: before}
		c.module(st.module)
		out, before = append(out, c.column), c.at
	}
	return out
}

// A collector fills a column in.
type collector struct {
	column
	at     map[*ir.Value][]int // graph and value of each value, those of equal layers the same
	stage  stage
	before map[*ir.Value][]int // at of the column before
}

func (c *collector) module(m *ir.Module) {
	layers, known := map[string][]int{}, map[string]int{}
	for l, name := range m.Layers {
		layers[name] = append(layers[name], l)
	}
	merged := map[int][]int{}
	for _, g := range m.Graphs {
		class, _, _ := strings.Cut(g.Name, ".")
		text := ""
		if len(layers[g.Name]) > 0 {
			text = textOf(g)
		}
		i, there := known[text]
		if text == "" || !there {
			i = len(c.Graphs)
			c.graph(g, nil)
			known[text] = i
		} else {
			c.repeat(g, i)
		}
		merged[i] = append(merged[i], layers[class]...)
	}
	for i, ls := range merged {
		slices.Sort(ls)
		c.Graphs[i].Layers, c.Graphs[i].Share = ranges(ls), len(ls)
	}
}

// graph appends g and the bodies in it.
func (c *collector) graph(g *ir.Graph, parent []int) {
	i := len(c.Graphs)
	out := graph{Name: g.Name, On: g.On, Parent: parent, Out: []int{}}
	index := map[*ir.Value]int{}
	for j, v := range g.Values {
		index[v], c.at[v] = j, []int{i, j}
		x := value{ID: v.ID, Name: v.Name, Op: v.Op.Name, Type: v.Type.String(), Attr: attribute(v), Slot: v.Slot, From: c.before[c.stage.from[v]], Made: c.stage.made[v]}
		for _, a := range v.Args {
			x.Args = append(x.Args, index[a])
		}
		out.Values = append(out.Values, x)
	}
	for _, o := range g.Outputs {
		out.Out = append(out.Out, index[o])
	}
	c.Graphs = append(c.Graphs, out)
	for j, v := range g.Values {
		if v.Body != nil {
			c.graph(v.Body, []int{i, j})
		}
	}
}

// repeat gives the values of g, which prints as graph i does, their places there.
func (c *collector) repeat(g *ir.Graph, i int) {
	for j, v := range g.Values {
		c.at[v] = []int{i, j}
	}
	for _, v := range g.Values {
		if v.Body == nil {
			continue
		}
		parent := c.at[v]
		k := slices.IndexFunc(c.Graphs, func(b graph) bool { return slices.Equal(b.Parent, parent) })
		c.repeat(v.Body, k)
	}
}

// textOf prints g so that graphs of layers that are the same print equal.
func textOf(g *ir.Graph) string {
	c := g.Clone()
	for _, v := range c.Values {
		v.Origin = ""
	}
	_, text, _ := strings.Cut(c.String(), "\n")
	return text
}

// attribute prints v's as the text of a graph has it: "k=3".
func attribute(v *ir.Value) string {
	var parts []string
	for _, f := range v.Fields() {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, " ")
}

// ranges prints 0,1,2,5 as 0–2, 5.
func ranges(ns []int) string { return strings.ReplaceAll(export.Ranges(ns), "-", "–") }
