package passes

import (
	"fmt"

	"estream/ir"
)

// A set is a set of values.
type set map[*ir.Value]bool

func setOf(vs ...*ir.Value) set {
	s := set{}
	for _, v := range vs {
		s[v] = true
	}
	return s
}

// ancestors returns the roots and all that they are computed from.
func ancestors(g *ir.Graph, roots ...*ir.Value) set {
	s := setOf(roots...)
	for i := len(g.Values) - 1; i >= 0; i-- {
		if v := g.Values[i]; s[v] {
			for _, a := range v.Args {
				s[a] = true
			}
		}
	}
	return s
}

// descendants returns what is computed from root, root apart.
func descendants(g *ir.Graph, root *ir.Value) set {
	s := set{}
	for _, v := range g.Values {
		for _, a := range v.Args {
			if a == root || s[a] {
				s[v] = true
			}
		}
	}
	return s
}

// users returns the values that have each value as an operand, each once.
func users(g *ir.Graph) map[*ir.Value][]*ir.Value {
	m := map[*ir.Value][]*ir.Value{}
	for _, v := range g.Values {
		seen := set{}
		for _, a := range v.Args {
			if !seen[a] {
				m[a] = append(m[a], v)
			}
			seen[a] = true
		}
	}
	return m
}

// overwritten returns the values of g that others write over.
func overwritten(g *ir.Graph) set {
	s := set{}
	for _, v := range g.Values {
		if o := v.Overwrites(); o != nil {
			s[o] = true
		}
	}
	return s
}

// retype infers the types of g's values again, after those of its inputs and
// weights have changed.
func retype(g *ir.Graph) error {
	for _, v := range g.Values {
		if err := v.Infer(); err != nil {
			return fmt.Errorf("graph %s: %s: %w", g.Name, v.Label(), err)
		}
	}
	return nil
}

// origin says that a pass made a value of v.
func origin(pass string, v *ir.Value) string { return pass + "/" + v.String() }

// isSource reports whether v comes from outside its graph.
func isSource(v *ir.Value) bool { return v.Op == ir.Input || v.Op == ir.Weight }
