package passes

import (
	"fmt"

	"estream/ir"
)

// Routed returns the callee of a layer class's experts and how many experts its
// router chooses among: the width of what its topk reads. n is 0 for a class
// without experts; it is an error where the module does not tell.
func Routed(m *ir.Module, class string) (callee string, n int, err error) {
	experts := m.Graph(class + "." + ExpertsPhase)
	if experts == nil {
		return "", 0, nil
	}
	for _, v := range experts.Values {
		if v.Op != ir.Experts {
			continue
		}
		for _, g := range ClassGraphs(m, class) {
			if ids := g.Value(v.Args[1].Name); ids != nil && ids.Op == ir.TopK {
				return v.Attr.(ir.ExpertsAttr).Callee, ids.Args[0].Type.Last().N, nil
			}
		}
	}
	return "", 0, fmt.Errorf("layer class %s: no topk tells how many experts there are", class)
}
