package passes

import (
	"strings"

	"estream/ir"
)

// Graphs that split leaves: those of the model's ends, and the phases of a layer
// class, which are named "<class>.<phase>".
const (
	EmbedGraph = "embed"
	HeadNorm   = "head.norm"
	HeadProj   = "head.proj"

	BodyPhase    = "body"
	RoutePhase   = "route"
	SidePhase    = "side"
	ExpertsPhase = "experts" // the routed op alone
	TailPhase    = "tail"
	EarlyPhase   = "early" // guesses what route will choose
)

// Phases returns the phases of a class in the order they run. Early stands apart.
func Phases() []string {
	return []string{BodyPhase, RoutePhase, SidePhase, ExpertsPhase, TailPhase}
}

// ClassGraphs returns the phases of a class that m has, in the order they run.
func ClassGraphs(m *ir.Module, class string) []*ir.Graph {
	var gs []*ir.Graph
	for _, p := range Phases() {
		if g := m.Graph(class + "." + p); g != nil {
			gs = append(gs, g)
		}
	}
	return gs
}

// phaseOf returns the phase of a graph named "<class>.<phase>"; "" of others.
func phaseOf(graph string) string {
	_, phase, _ := strings.Cut(graph, ".")
	return phase
}
