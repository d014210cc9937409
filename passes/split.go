package passes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
)

// split cuts layers into phases, and makes layers whose phases print equal one
// class; it cuts the head, and unbinds the embedding's table from its rows.
func split(m *ir.Module) error {
	s := splitter{m: m, classes: map[string]string{}, of: map[string]string{}}
	for _, g := range m.Graphs {
		if err := s.graph(g); err != nil {
			return fmt.Errorf("graph %s: %w", g.Name, err)
		}
	}
	m.Graphs = s.done
	for i, l := range m.Layers {
		if c := s.of[l]; c != "" {
			m.Layers[i] = c
		}
	}
	return nil
}

type splitter struct {
	m       *ir.Module
	classes map[string]string // name, by the text of its phases
	of      map[string]string // class of a layer's graph
	done    []*ir.Graph
}

func (s *splitter) graph(g *ir.Graph) error {
	switch {
	case slices.Contains(s.m.Layers, g.Name):
		if err := replaceable(s.m, g); err != nil {
			return err
		}
		return s.layer(g)
	case g.Name == "head":
		if err := replaceable(s.m, g); err != nil {
			return err
		}
		parts, err := splitHead(g)
		for _, p := range parts {
			if p.Name != g.Name && s.m.Graph(p.Name) != nil {
				return fmt.Errorf("there is a graph %s already", p.Name)
			}
		}
		s.done = append(s.done, parts...)
		return err
	case g.Name == EmbedGraph:
		s.done = append(s.done, g)
		return unbindTable(g)
	}
	s.done = append(s.done, g)
	return nil
}

// replaceable reports a graph that is named elsewhere than as a layer, so that no
// others can take its place.
func replaceable(m *ir.Module, g *ir.Graph) error {
	if slices.Contains(m.Callees(), g) {
		return errors.New("experts call it, so no others can take its place")
	}
	for _, l := range m.Layers {
		if strings.HasPrefix(g.Name, l+".") {
			return fmt.Errorf("it is of the layer class %s, so no others can take its place", l)
		}
	}
	return nil
}

func (s *splitter) layer(g *ir.Graph) error {
	parts, err := splitLayer(g)
	if err == nil && len(parts) == 0 {
		err = errors.New("a layer that computes nothing")
	}
	if err != nil {
		return err
	}
	text := classText(parts...)
	class, known := s.classes[text]
	if !known {
		class = s.freeClass()
		for _, p := range parts {
			p.Name = class + p.Name
		}
		s.done = append(s.done, parts...)
		s.classes[text] = class
	}
	s.of[g.Name] = class
	return nil
}

// freeClass returns the first of c0, c1, ... that is no class yet.
func (s *splitter) freeClass() string {
	for i := 0; ; i++ {
		class := fmt.Sprintf("c%d", i)
		taken := func(g *ir.Graph) bool { return strings.HasPrefix(g.Name, class+".") }
		if !slices.ContainsFunc(s.done, taken) && !slices.ContainsFunc(s.m.Graphs, taken) {
			return class
		}
	}
}

// unbindTable makes the rows of the table that embed reads U: those that a call
// gathers.
func unbindTable(g *ir.Graph) error {
	users := users(g)
	for _, w := range g.Weights() {
		if !readOnlyAs(w, users[w], ir.Embed, 0) {
			return fmt.Errorf("weight %s is not the table of an embed op, and the graph has no record for others", w.Name)
		}
		w.Type.Dims = []ir.Dim{ir.U, w.Type.Last()}
	}
	return retype(g)
}
