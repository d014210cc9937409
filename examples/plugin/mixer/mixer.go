// Package mixer is the operator by which Phi-3.5-MoE weighs its experts: the type
// of its result, its reference and the host's function.
//
// It is SparseMixer at inference (Liu et al. 2024, "GRIN: GRadient-INformed MoE"):
// the weight of an expert is its share of a softmax over those experts that were not
// chosen before it and whose logits are not far below its own.
package mixer

import (
	"fmt"

	"estream/ir"
)

// Attr is the attribute of Op. A logit x counts beside the chosen one, t, where
// t-x is at most 2*Jitter*max(|x|, t).
type Attr struct{ Jitter float64 }

// Op weighs the experts that a token has chosen.
var Op = &ir.Op{
	Name: "sparsemixer", Operands: "ti", Attr: Attr{}, Infer: infer,
	Doc: "f32[T,k]: logits [T,E], ids [T,k]: the softmax of each id among those not before it and not far below",
}

func infer(args []ir.Type, attr any) (ir.Type, error) {
	x, ids := args[0], args[1]
	if x.Rank() != 2 || ids.Rank() != 2 || !x.DType.Float() || x.Dims[0] != ids.Dims[0] || !counts(x.Last()) || !counts(ids.Last()) {
		return ir.Type{}, fmt.Errorf("want logits [T,E] and ids [T,k], got %s and %s", x, ids)
	}
	if j := attr.(Attr).Jitter; !(j >= 0) {
		return ir.Type{}, fmt.Errorf("jitter=%v is not a number from 0", j)
	}
	return ids.WithDType(ir.F32), nil
}

// counts reports whether an extent is a number above 0.
func counts(d ir.Dim) bool { return d.Sym == "" && d.N > 0 }
