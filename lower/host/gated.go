package host

import (
	"estream/ir"
	"estream/lower/host/kernel"
)

// A gated is the expert body that nearly all families have,
//
//	down(silu(gate(x)) * up(x))
//
// with a quantize before down where down is encoded. It runs for all experts of a
// group at once, see gatedRun.
type gated struct {
	x              ir.DType // of the rows that meet gate and up
	hidden         ir.DType // of the rows that meet down
	gate, up, down int      // weights of the graph
	h, f, out      int      // extents: of x, of the hidden rows, of y

	xSums, hiddenSums int  // of a quad of rows of each; 0 where it is not quantized
	oneSum            bool // gate and up share those of x
}

// matchGated returns the gated body of an expert graph, or nil if its body is another.
func matchGated(g *ir.Graph) *gated {
	scatter := g.Outputs[0]
	if scatter.Op != ir.ScatterAdd || !isInput(scatter.Args[0], "y") || !isInput(scatter.Args[2], "rows") {
		return nil
	}
	scale := scatter.Args[1]
	if scale.Op != ir.ScaleRows || !isInput(scale.Args[1], "w") {
		return nil
	}
	down := scale.Args[0]
	if !byWeight(down) {
		return nil
	}
	hidden := down.Args[0]
	if hidden.Op == ir.Quantize {
		hidden = hidden.Args[0]
	}
	gate, up := gateAndUp(hidden)
	if gate == nil {
		return nil
	}
	x := gate.Args[0]
	if x != up.Args[0] || x.Op != ir.GatherRows || !isInput(x.Args[0], "x") || !isInput(x.Args[1], "rows") {
		return nil
	}
	encoded := gate.Args[1].Type
	m := &gated{x: x.Type.DType, hidden: down.Args[0].Type.DType, h: x.Type.Last().N, f: hidden.Type.Last().N, out: down.Type.Last().N}
	m.xSums, m.hiddenSums = sums(encoded, m.x), sums(down.Args[1].Type, m.hidden)
	m.oneSum = encoded.DType == up.Args[1].Type.DType
	for i, w := range g.Weights() {
		switch w {
		case gate.Args[1]:
			m.gate = i
		case up.Args[1]:
			m.up = i
		case down.Args[1]:
			m.down = i
		}
	}
	distinct := m.gate != m.up && m.up != m.down && m.gate != m.down
	if !distinct || m.x != ir.F32 && !m.x.Activation() {
		return nil
	}
	return m
}

// quad is how many rows are summed at a time.
const quad = 4

// sums is how many sums a quad of rows has, of activations of type d that meet weights of type w.
func sums(w ir.Type, d ir.DType) int {
	if !d.Activation() {
		return 0
	}
	return kernel.SumCount(&kernel.Matrix{DType: w.DType, K: w.Last().N}, d == ir.A8G128, quad)
}

// gateAndUp returns the products of v = silu(gate) * up, in either order; nil if v is none.
func gateAndUp(v *ir.Value) (gate, up *ir.Value) {
	if v.Op != ir.Mul {
		return nil, nil
	}
	for i, s := range v.Args {
		up := v.Args[1-i]
		if s.Op == ir.SiLU && byWeight(s.Args[0]) && byWeight(up) && s.Type.Equal(up.Type) {
			return s.Args[0], up
		}
	}
	return nil, nil
}

func byWeight(v *ir.Value) bool { return v.Op == ir.MatMul && v.Args[1].Op == ir.Weight }

func isInput(v *ir.Value, name string) bool { return v.Op == ir.Input && v.Name == name }
