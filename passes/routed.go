package passes

import "estream/ir"

// Routed returns the callee of a layer class's experts and how many experts its
// router chooses among: the width of what its topk reads. n is 0 for a class
// without experts, -1 where the module does not tell.
func Routed(m *ir.Module, class string) (callee string, n int) {
	experts, route := m.Graph(class+".experts"), m.Graph(class+".route")
	if experts == nil {
		return "", 0
	}
	for _, v := range experts.Values {
		a, ok := v.Attr.(ir.ExpertsAttr)
		if !ok || route == nil || len(v.Args) < 2 {
			continue
		}
		if ids := route.Value(v.Args[1].Name); ids != nil && ids.Op == ir.TopK {
			return a.Callee, ids.Args[0].Type.Last().N
		}
	}
	return "", -1
}
