package passes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"estream/ir"
)

// group returns for each tier of an expert a graph of several, "expert0@R8,G4", for
// each number in t.G but 1.
func (t Tiers) group(tiers []*ir.Graph) ([]*ir.Graph, error) {
	sizes := slices.Compact(slices.Sorted(slices.Values(t.G)))
	if len(sizes) > 0 && sizes[0] != 1 {
		return nil, fmt.Errorf("the target's tiers of G are %v: want 1 among them, and none less: a single expert has to run too", t.G)
	}
	var out []*ir.Graph
	for _, g := range tiers {
		for _, n := range sizes[min(1, len(sizes)):] {
			r := repeat(g, n)
			r.Name = fmt.Sprintf("%s,G%d", g.Name, n)
			out = append(out, r)
		}
	}
	return out, nil
}

// repeat returns a graph of n bodies of g, whose values do not meet: body i has
// its inputs x.i and w.i, its weights with .i after their names, and output i.
func repeat(g *ir.Graph, n int) *ir.Graph {
	all := &ir.Graph{On: g.On}
	var computed []*ir.Value
	for i := range n {
		b := g.Clone()
		for _, v := range b.Values {
			if v.Name != "" {
				v.Name = BodyName(v.Name, i)
			}
			if isSource(v) {
				all.Values = append(all.Values, v)
			} else {
				computed = append(computed, v)
			}
		}
		all.Outputs = append(all.Outputs, b.Outputs...)
	}
	all.Values = append(all.Values, computed...)
	all.Renumber()
	return all
}

// BodyName is the name that a value of body i of a graph of several has.
func BodyName(name string, i int) string { return fmt.Sprintf("%s.%d", name, i) }

// CutBodyName takes apart what BodyName made.
func CutBodyName(s string) (name string, i int, ok bool) {
	at := strings.LastIndexByte(s, '.')
	if at < 0 {
		return "", 0, false
	}
	i, err := strconv.Atoi(s[at+1:])
	return s[:at], i, err == nil && i >= 0
}
