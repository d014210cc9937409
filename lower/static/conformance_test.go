package static_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
)

// TestConformanceInGroups holds launches of several experts to the suite of
// backends, on the fake NPU.
func TestConformanceInGroups(t *testing.T) {
	npu := lowertest.NewNPU()
	tiers := passes.Tiers{T: []int{32}, S: []int{160}, R: []int{1, 3}, G: []int{1, 2, 3}}
	b := static.New(npu, tiers).With(tiers, static.Policy{Cost: passes.Cost{Launch: 4, Body: 1, Row: 1}})
	lowertest.RunAll(t, b, lowertest.Options{
		Tiered:  true,
		Refuses: []string{"append", "embed", "experts", "gather", "gather_rows", "matmul", "onehot", "quantize", "scatter_add", "topk"},
		Half:    lowertest.Tolerance{Rel: 1.0 / 100, Why: "its own keys and values are not rounded to 16 bits when it attends to them"},
		Prepare: func(m *ir.Module) error { return passes.Run(m, passes.Open(b.Target(host.New(host.Options{}))), nil) },
	})
	require.Zero(t, npu.Live(), "memories that are not freed")
}
