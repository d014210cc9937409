// Package export writes modules for other programs to read: as a drawing
// (Graphviz DOT), as data (JSON) and for viewers of networks (ONNX, which Netron
// opens). docs/export.md says what each of them holds.
//
// What holds of every export:
//
//	X1  it follows from the module and its name alone: the same bytes each time
//	X2  every graph and every value of the module is in it, with its name and type
//	X3  it holds no weights: they are told of by name, type and place in their record
//
// A module is only read, and nothing of it is kept. It must verify.
package export

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"estream/ir"
)

// A Model is a module and what it is called, which may be empty.
type Model struct {
	Name   string
	Module *ir.Module
}

// A Format is a way to write a model.
type Format struct {
	Name   string
	Doc    string // one line
	Binary bool   // it is no text
	Write  func(w io.Writer, m Model) error
}

// Formats returns a list of its own each time.
func Formats() []Format {
	return []Format{
		{"dot", "a drawing for Graphviz: a cluster for each graph, within that of its layers' class", false, DOT},
		{"json", "all of the module as data, with how its graphs are called", false, JSON},
		{"onnx", "for Netron: a function for each graph, and a main graph that calls them", true, ONNX},
	}
}

// Find returns the format of a name.
func Find(name string) (Format, error) {
	var known []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	return Format{}, fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(known, ", "))
}

// label is how a value is called within its graph.
func label(v *ir.Value) string {
	if v.Name != "" {
		return v.Name
	}
	return v.String()
}

// A class is what layers of one shape share.
type class struct {
	name   string
	layers []int
	graphs []*ir.Graph // phases in the order they run, then early; one graph where layers are not split
}

// classes returns the classes of m's layers, in the order of their first layers.
func classes(m *ir.Module) []class {
	var out []class
	for l, name := range m.Layers {
		i := slices.IndexFunc(out, func(c class) bool { return c.name == name })
		if i < 0 {
			i = len(out)
			out = append(out, class{name: name, graphs: layerGraphs(m, name)})
			if early := m.Graph(name + earlySuffix); early != nil {
				out[i].graphs = append(out[i].graphs, early)
			}
		}
		out[i].layers = append(out[i].layers, l)
	}
	return out
}

// Ranges writes numbers in order as text: 0, 1, 2, 5 as 0-2, 5.
func Ranges(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", ns[i], ns[j]))
		} else {
			parts = append(parts, fmt.Sprint(ns[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
