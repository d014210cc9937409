package passes

import (
	"fmt"
	"slices"

	"estream/ir"
)

// splitHead cuts the head before its last matmul: "head.norm" is what that needs,
// "head.proj" the matmul and what follows it, for P columns of the whole V. So
// what follows must work column by column.
func splitHead(g *ir.Graph) ([]*ir.Graph, error) {
	g.Renumber()
	proj := lastMatMul(g)
	if proj == nil {
		return nil, fmt.Errorf("want a matmul by a weight [V,H]")
	}
	before := ancestors(g, proj.Args[0])
	phase := map[*ir.Value]string{}
	for _, v := range g.Values {
		switch {
		case isSource(v):
		case before[v]:
			phase[v] = HeadNorm
		default:
			phase[v] = HeadProj
		}
	}
	outputs := crossing(g, phase)
	var parts []*ir.Graph
	for _, p := range []string{HeadNorm, HeadProj} {
		members := set{}
		for v, q := range phase {
			members[v] = p == q
		}
		for _, v := range outputs[p] {
			nameCrossing(g, v)
		}
		if c := carve(g, p, members, outputs[p]); len(c.Values) > 0 {
			parts = append(parts, c)
		}
	}
	last := parts[len(parts)-1]
	return parts, takeColumns(last, lastMatMul(last))
}

// lastMatMul returns the last matmul of g by a weight, or nil.
func lastMatMul(g *ir.Graph) *ir.Value {
	for _, v := range slices.Backward(g.Values) {
		if v.Op == ir.MatMul && v.Args[1].Op == ir.Weight {
			return v
		}
	}
	return nil
}

// takeColumns gives the weights of g, the graph after proj's x, P columns.
func takeColumns(g *ir.Graph, proj *ir.Value) error {
	columns := proj.Type.Last()
	for _, v := range g.Values {
		switch {
		case v.Op == ir.Weight && (v == proj.Args[1] || v.Type.Rank() == 1 && v.Type.Last() == columns):
			v.Type.Dims = append([]ir.Dim{ir.P}, v.Type.Dims[1:]...)
		case v == proj, v.Op == ir.Input:
		case !v.Op.Columnwise || v.Type.Last() != columns:
			return fmt.Errorf("%s does not work column by column, so the head cannot be read in runs of columns", v.Label())
		}
	}
	return retype(g)
}
