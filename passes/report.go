package passes

import "estream/ir"

// A Report collects what passes decided, for printing. Passes add to it even
// where a later one fails. A nil Report takes nothing.
type Report struct {
	Decisions []Decision // of quantize, in the order of the module
	Classes   []Class    // of extract-expert, in the order they were found
	Hosted    []Hosted   // of legalize, in the order of the module
}

// A Decision is the element type that a weight, or a state, was given.
type Decision struct {
	Graph, Weight string
	From, To      ir.DType
	Reason        string
}

// A Class is a callee and the graph whose experts it was made of.
type Class struct {
	Callee, Graph string
	Differs       string // its first difference from the first class; empty for the first
}

// A Hosted is a graph that the target's backend might have run but cannot.
type Hosted struct {
	Graph string
	Why   error
}

func (r *Report) decide(d Decision) {
	if r != nil {
		r.Decisions = append(r.Decisions, d)
	}
}

func (r *Report) class(c Class) {
	if r != nil {
		r.Classes = append(r.Classes, c)
	}
}

func (r *Report) hosted(h Hosted) {
	if r != nil {
		r.Hosted = append(r.Hosted, h)
	}
}
