package qnn_test

import (
	"testing"

	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
)

func TestCPUConformance(t *testing.T) {
	b := static.New(cpu(t), passes.Tiers{T: []int{1, 4}, S: []int{160}, R: []int{4}})
	o := suite(b)
	o.Tolerance = lowertest.Tolerance{Rel: 2e-4, Why: "the vendor's RmsNorm is good to 1e-5 of its result"}
	lowertest.RunAll(t, b, o)
}
