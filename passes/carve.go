package passes

import (
	"slices"

	"estream/ir"
)

// carve returns a graph of those of g's values that are in members, in g's
// order. Operands from elsewhere become inputs of their names; inputs and
// weights come along where they are read. outputs are members.
func carve(g *ir.Graph, name string, members set, outputs []*ir.Value) *ir.Graph {
	read := readBy(members)
	c, of := &ir.Graph{Name: name}, map[*ir.Value]*ir.Value{}
	var inputs []*ir.Value
	for _, v := range g.Values {
		w := *v
		switch {
		case members[v]:
			w.Args = slices.Clone(v.Args)
			for i, a := range w.Args {
				w.Args[i] = of[a]
			}
			c.Values = append(c.Values, &w)
		case !read[v]:
			continue
		case v.Op == ir.Weight:
			c.Values = append(c.Values, &w)
		case v.Op == ir.Input:
			inputs = append(inputs, &w)
		default:
			w = ir.Value{ID: v.ID, Name: v.Name, Origin: origin("split", v), Op: ir.Input, Type: v.Type}
			inputs = append(inputs, &w)
		}
		of[v] = &w
	}
	c.Values = append(inputs, c.Values...)
	for _, o := range outputs {
		c.Outputs = append(c.Outputs, of[o])
	}
	c.Renumber()
	return c
}

// readBy returns the operands of members.
func readBy(members set) set {
	read := set{}
	for v, in := range members {
		if !in {
			continue
		}
		for _, a := range v.Args {
			read[a] = true
		}
	}
	return read
}
