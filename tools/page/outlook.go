package page

import (
	"estream/ir"
	"estream/pager"
	"estream/passes"
	"estream/runtime"
)

// An outlook is what is known of a run without a machine and a prompt.
type outlook struct {
	Arena      pager.Geometry // that a run tries first
	Least      pager.Geometry // that a run can do with
	Pass       int64          // bytes that a pass reads where every expert is chosen
	Saturation float64        // n*, in tokens, of a machine that computes 100 Gop/s and reads 1 GB/s; 0: no experts
}

func (s Source) outlook(m *ir.Module, classes []class) outlook {
	out := outlook{Arena: s.arena()}
	out.Least = out.Arena
	out.Least.Banks, out.Least.Group = min(1, out.Arena.Banks), min(1, out.Arena.Group)
	var experts int64
	for _, r := range s.Manifest.Experts {
		experts += r.Stride(s.Manifest.Align)
	}
	out.Pass = experts
	for _, r := range s.Manifest.Dense {
		out.Pass += r.Stride(s.Manifest.Align)
	}
	var token int64 // operations
	for _, c := range classes {
		if c.Callee != "" {
			token += int64(c.Share) * (int64(c.Chosen)*c.EachFlops + products(m.Graph(c.Name+"."+passes.SidePhase)))
		}
	}
	if token > 0 {
		out.Saturation = 1.2 * (float64(experts) / 1e9) / (float64(token) / 100e9)
	}
	return out
}

// arena is that of the plan, or what runtime tries first.
func (s Source) arena() pager.Geometry {
	if s.Plan != nil {
		return s.Plan.Geometry
	}
	return runtime.Arena(s.Manifest)
}

// products are the multiplications and additions of a row in the matrix products of a
// graph, which may be nil.
func products(g *ir.Graph) int64 {
	n := int64(0)
	if g != nil {
		for _, v := range g.Values {
			if v.Op == ir.MatMul {
				n += 2 * values(v.Args[1].Type)
			}
		}
	}
	return n
}
