package passes

import (
	"slices"

	"estream/ir"
)

// dce removes values that reach no output. Inputs stay: they are the signature.
func dce(m *ir.Module) error {
	for _, g := range m.Graphs {
		removeDead(g)
		g.Renumber()
	}
	return nil
}

func removeDead(g *ir.Graph) {
	live := ancestors(g, g.Outputs...)
	g.Values = slices.DeleteFunc(g.Values, func(v *ir.Value) bool { return !live[v] && v.Op != ir.Input })
	for _, v := range g.Values {
		if v.Body != nil {
			removeDead(v.Body)
		}
	}
}
