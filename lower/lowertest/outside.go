package lowertest

import (
	"maps"
	"testing"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// A Case is one graph, of an operator that this module does not have.
type Case struct {
	Name    string
	Dims    lower.Dims         // of the symbols of its inputs
	Weights map[string]ir.Type // by name
	Build   func(b *ir.Builder) []*ir.Value
	In      map[string]*interp.Tensor // of inputs and weights by name; those that it lacks are random
	Fails   bool                      // the call must be an error
}

// RunCase holds b to its contract on a case, as RunAll does on those of the core
// operators.
func RunCase(t *testing.T, b lower.Backend, o Options, c Case) {
	t.Helper()
	if o.Tolerance.Rel == 0 {
		o.Tolerance = float32Sums()
	}
	o.Packings = append(b.Packings(), o.Packings...)
	x := newCase(c.Name, c.Dims, c.Weights, c.Build).with(c.In)
	x.fails = c.Fails
	if !x.run(t, b, o) {
		o.refused(t, x.graph.Outputs[0].Op, c.Name)
	}
}

// table computes all operators.
func (o Options) table() interp.Table {
	table := interp.Core()
	maps.Copy(table, o.Interp)
	return table
}
