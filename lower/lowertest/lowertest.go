// Package lowertest holds every backend to one contract. RunAll runs each op that
// a backend supports, each encoding and each kind of call, and compares with
// ir/interp; NPU is a device as strict as those of phones, for tests of what
// stands above backends.
//
// Beside numbers it checks B1 to B7 of package lower: what no sequence holds is
// NaN, calls are spoiled, cut and repeated, and all memory is compared afterwards.
//
// It is for tests alone.
package lowertest

import (
	"slices"
	"testing"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// Options are what RunAll must know of a backend.
type Options struct {
	// Tolerance is for float32 results. The zero Tolerance is replaced by one
	// for float32 sums.
	Tolerance Tolerance

	// Half is for graphs that keep keys and values in 16 bits. It is wider than
	// Tolerance for a device that attends to new rows before they are rounded.
	Half Tolerance

	// Wider says how much further than Tolerance results of a graph may be off,
	// as where its weights are encoded; nil: no further.
	Wider func(g *ir.Graph) Tolerance

	// Largest is beyond what the backend has no numbers: inputs are cut to it.
	// 0: it has those of float32.
	Largest float32

	// Suites names the parts of RunAll that are run; nil: all.
	Suites []string

	// Tiered says that the backend runs graphs of several sizes, which may sum
	// in different orders.
	Tiered bool

	// Interp computes operators beside the core's; see RunCase.
	Interp interp.Table

	// Refuses names the ops that the backend may refuse in some cases. To refuse
	// any other is a failure.
	Refuses []string

	// Packings are those of others that the backend reads beside its own.
	Packings []lower.Packing

	// Prepare is the passes from a stored module to one that the backend
	// compiles; nil for a backend that runs graphs as they are.
	Prepare func(*ir.Module) error
}

// RunAll runs the suite on b. Cases that b refuses, and may, are left out.
func RunAll(t *testing.T, b lower.Backend, o Options) {
	if o.Tolerance.Rel == 0 {
		o.Tolerance = float32Sums()
	}
	o.Packings = append(b.Packings(), o.Packings...)
	o.part(t, "Packings", func(t *testing.T) { testPackings(t, b) })
	for _, s := range suites() {
		o.part(t, s.name, func(t *testing.T) {
			for _, c := range s.cases() {
				if !c.run(t, b, o) {
					o.refused(t, c.graph.Outputs[0].Op, c.name)
				}
			}
		})
	}
	o.part(t, "Chunks", func(t *testing.T) { testChunks(t, b, o) })
	o.part(t, "Layers", func(t *testing.T) { testLayers(t, b, o) })
	o.part(t, "Malformed", func(t *testing.T) { testMalformed(t, b, o) })
	o.part(t, "Experts", func(t *testing.T) { testExperts(t, b, o) })
}

func (o Options) part(t *testing.T, name string, run func(t *testing.T)) {
	if o.Suites == nil || slices.Contains(o.Suites, name) {
		t.Run(name, run)
	}
}

// of returns the tolerance of a graph.
func (o Options) of(g *ir.Graph) Tolerance {
	if o.Wider == nil {
		return o.Tolerance
	}
	return o.Tolerance.or(o.Wider(g))
}

func float32Sums() Tolerance { return Tolerance{2e-5, "float32 sums of at most 384 terms"} }

// refused reports a case that is refused and may not be.
func (o Options) refused(t *testing.T, op *ir.Op, name string) {
	t.Helper()
	if !slices.Contains(o.Refuses, op.Name) {
		t.Errorf("%s is refused, and %s is not among the ops that may be", name, op)
	}
}

// A suite is cases that are alike.
type suite struct {
	name  string
	cases func() []testCase
}

func suites() []suite {
	return []suite{
		{"Elementwise", elementwise},
		{"MatMul", matmuls},
		{"Routing", routing},
		{"Rotation", rotations},
		{"Append", appends},
		{"Attention", attentions},
		{"Convolution", convolutions},
	}
}
