package qnn_test

import (
	"slices"
	"testing"

	"estream/ir"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
)

// suiteTiers cut calls of the suite, and hold its longest past.
var suiteTiers = passes.Tiers{T: []int{1, 4}, S: []int{160}, R: []int{4}}

func TestCPUConformance(t *testing.T) {
	b := static.New(cpu(t), suiteTiers)
	o := suite(b)
	o.Tolerance = lowertest.Tolerance{Rel: 2e-4, Why: "the vendor's RmsNorm is good to 1e-5 of its result"}
	lowertest.RunAll(t, b, o)
}

// TestHTPConformance is of HTP's emulation; where w8 is multiplied in whole numbers,
// of what has matrices.
func TestHTPConformance(t *testing.T) {
	for _, c := range []struct {
		name   string
		whole  bool
		suites []string
	}{{"f16", false, nil}, {"a16w8", true, []string{"MatMul", "Layers", "Experts"}}} {
		t.Run(c.name, func(t *testing.T) {
			b := static.New(htp(t, c.whole), suiteTiers)
			o := suite(b)
			o.Tolerance = lowertest.Tolerance{Rel: 2e-3, Why: "half precision"}
			o.Wider, o.Largest, o.Suites = widerOnHTP, 65504, c.suites
			lowertest.RunAll(t, b, o)
		})
	}
}

// widerOnHTP is what graphs may be off by in half precision beyond 2e-3, which
// holds for weights of every encoding.
func widerOnHTP(g *ir.Graph) lowertest.Tolerance {
	if slices.ContainsFunc(g.Values, func(v *ir.Value) bool { return v.Op == ir.Attention || v.Op == ir.AttentionMasked }) {
		return lowertest.Tolerance{Rel: 3e-3, Why: "scores of several units are rounded to half precision before their exponentials"}
	}
	return lowertest.Tolerance{}
}
