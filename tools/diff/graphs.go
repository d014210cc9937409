package diff

import (
	"fmt"
	"strings"

	"estream/ir"
)

// A Graph is a graph that differs.
type Graph struct {
	Name   string  `json:"graph"`
	Only   string  `json:"only,omitempty"` // "a" or "b" where the other has none
	Values []Value `json:"values,omitempty"`
}

// A Value is what differs at a value of a graph: as it reads on each side, operands
// by name, or empty where a side has none.
type Value struct {
	A string `json:"a"`
	B string `json:"b"`
}

// modules compares modules graph by graph. Numbers of values do not count.
func modules(a, b *ir.Module) []Graph {
	out := []Graph{}
	if x, y := strings.Join(a.Layers, " "), strings.Join(b.Layers, " "); x != y {
		out = append(out, Graph{Name: "layers", Values: []Value{{x, y}}})
	}
	for _, g := range a.Graphs {
		h := b.Graph(g.Name)
		if h == nil {
			out = append(out, Graph{Name: g.Name, Only: "a"})
			continue
		}
		if vs := compare(g, h); len(vs) > 0 {
			out = append(out, Graph{Name: g.Name, Values: vs})
		}
	}
	for _, g := range b.Graphs {
		if a.Graph(g.Name) == nil {
			out = append(out, Graph{Name: g.Name, Only: "b"})
		}
	}
	return out
}

// compare compares two graphs: lines of one that the other has not are told of, in
// order, those of one name in both as one that changed.
func compare(a, b *ir.Graph) []Value {
	left, right := lines(a), lines(b)
	missing := map[string]int{}
	for _, l := range right {
		missing[l.text]++
	}
	var out []Value
	at := map[string]int{} // where in out a name of a stands
	for _, l := range left {
		if missing[l.text] > 0 {
			missing[l.text]--
			continue
		}
		at[l.name] = len(out)
		out = append(out, Value{A: l.text})
	}
	for _, l := range right {
		if missing[l.text] == 0 {
			continue
		}
		missing[l.text]--
		if i, ok := at[l.name]; ok {
			out[i].B = l.text
			delete(at, l.name)
			continue
		}
		out = append(out, Value{B: l.text})
	}
	return out
}

// A line is a value of a graph in words that do not depend on its number, by which
// values of two graphs are paired.
type line struct{ name, text string }

// lines are the values of a graph, what it runs on and what it returns. Values without
// a name are counted by what computes them.
func lines(g *ir.Graph) []line {
	var out []line
	if g.On != "" {
		out = append(out, line{"on", "on " + g.On})
	}
	return listed(out, g, "")
}

func listed(out []line, g *ir.Graph, indent string) []line {
	seen, label := map[*ir.Op]int{}, map[*ir.Value]string{}
	for _, v := range g.Values {
		name := v.Name
		if name == "" {
			seen[v.Op]++
			name = fmt.Sprintf("(%s %d)", v.Op.Name, seen[v.Op])
		}
		label[v] = name
		out = append(out, line{indent + name, indent + name + " = " + computed(v, label)})
		if v.Body != nil {
			out = listed(out, v.Body, indent+"  ")
		}
	}
	text := "return"
	for _, v := range g.Outputs {
		text += " " + label[v]
	}
	return append(out, line{indent + "return", indent + text})
}

// computed is a value as text, from its op on, operands by their labels. Where a weight
// lies says nothing of the model.
func computed(v *ir.Value, label map[*ir.Value]string) string {
	text := v.Op.Name
	for _, a := range v.Args {
		text += " " + label[a]
	}
	for _, f := range v.Fields() {
		if v.Op != ir.Weight {
			text += " " + f.String()
		}
	}
	return text + " : " + v.Type.String()
}
