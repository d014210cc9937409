package ir

import "slices"

// Homes returns, for each value of g, the value in whose memory it lies: itself,
// or an earlier one. A result written in place lies in its operand. A reshape
// lies in what it reshapes, unless it changes the element type, is an output,
// or either of the two is written over.
func (g *Graph) Homes() map[*Value]*Value {
	home := map[*Value]*Value{}
	written := map[*Value]bool{} // the homes that are written over, reshapes apart
	for _, v := range g.Values {
		home[v] = v
		if over := v.Overwrites(); over != nil {
			home[v] = home[over]
			written[home[v]] = true
		}
	}
	for _, v := range g.Values {
		if over := v.Overwrites(); over != nil {
			home[v] = home[over]
		} else if v.Op == Reshape && v.Type.DType == v.Args[0].Type.DType && !slices.Contains(g.Outputs, v) && !written[v] && !written[home[v.Args[0]]] {
			home[v] = home[v.Args[0]]
		}
	}
	return home
}
