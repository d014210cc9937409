package page

import (
	"fmt"
	"strconv"
	"strings"

	"estream/ir"
	"estream/passes"
)

// tagged marks the origin of a value that is followed through a pass. It cannot be
// a pass's own: those begin with its name.
const tagged = "-/%"

// step runs p on a copy of m and finds what each value that is left comes from.
//
// It runs p a second time, on a copy whose values carry their numbers as origins:
// those that survive still do, and one that was made names the value that it was
// made of, by its place in the graph that most others there come from.
func step(m *ir.Module, p passes.Pass) (stage, error) {
	st := stage{name: p.Name, doc: p.Doc, module: m.Clone(), from: map[*ir.Value]*ir.Value{}, made: map[*ir.Value]bool{}}
	if err := passes.Run(st.module, []passes.Pass{p}, nil); err != nil {
		return st, err
	}
	before, marked := places(m), m.Clone()
	for _, g := range marked.Graphs {
		g.Renumber()
	}
	for i, at := range places(marked) {
		at.v.Origin = tagged + strconv.Itoa(i)
	}
	if err := passes.Run(marked, []passes.Pass{p}, nil); err != nil {
		return st, err
	}
	after, marks := places(st.module), places(marked)
	if len(after) != len(marks) {
		return st, fmt.Errorf("pass %s depends on the numbers or origins of values", p.Name)
	}
	f := follower{p.Name, before, sourceGraphs(before, marks)}
	for i, at := range after {
		v, made := f.source(marks[i])
		if st.made[at.v] = made; v != nil {
			st.from[at.v] = v
		}
	}
	return st, nil
}

// A place is a value of a module and the graphs it stands in: its own and, of a
// body, that of the experts.
type place struct {
	v        *ir.Value
	g, outer *ir.Graph
}

// places lists the values of m, bodies after the value whose they are.
func places(m *ir.Module) []place {
	var all []place
	for _, g := range m.Graphs {
		for _, v := range g.Values {
			all = append(all, place{v, g, g})
			if v.Body == nil {
				continue
			}
			for _, w := range v.Body.Values {
				all = append(all, place{w, v.Body, g})
			}
		}
	}
	return all
}

// sourceGraphs returns, for each graph after a pass, the graph before it that most
// of its values were in.
func sourceGraphs(before, marks []place) map[*ir.Graph]*ir.Graph {
	count := map[*ir.Graph]map[*ir.Graph]int{}
	best := map[*ir.Graph]*ir.Graph{}
	for _, at := range marks {
		i, ok := number(at.v.Origin, tagged)
		if !ok || i >= len(before) {
			continue
		}
		if count[at.g] == nil {
			count[at.g] = map[*ir.Graph]int{}
		}
		from := before[i].outer
		count[at.g][from]++
		if count[at.g][from] > count[at.g][best[at.g]] {
			best[at.g] = from
		}
	}
	return best
}

// A follower finds sources of values after a pass.
type follower struct {
	pass   string
	before []place
	graphs map[*ir.Graph]*ir.Graph
}

// source is the value before the pass that a marked value after it comes from, or
// nil; made says that it is not that value itself.
func (f follower) source(at place) (v *ir.Value, made bool) {
	if i, ok := number(at.v.Origin, tagged); ok && i < len(f.before) {
		return f.before[i].v, false
	}
	id, ok := number(at.v.Origin, f.pass+"/%")
	if g := f.graphs[at.g]; ok && g != nil && id >= 1 && id <= len(g.Values) {
		return g.Values[id-1], true
	}
	return nil, true
}

// number reads what follows prefix in an origin.
func number(origin, prefix string) (int, bool) {
	s, ok := strings.CutPrefix(origin, prefix)
	n, err := strconv.Atoi(s)
	return n, ok && err == nil && n >= 0
}
