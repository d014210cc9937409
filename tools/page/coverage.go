package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/passes"
	"estream/runtime"
)

// A coverage is what of a package a backend runs.
type coverage struct {
	Name, Doc string
	Reads     bool   // the package's packing
	Remedy    string // where it does not
	Fault     string // why the package cannot be opened for it at all
	Runs, Of  int    // graphs
	Graphs    []covered
}

// A covered is a graph and where it runs.
type covered struct {
	Graph   string
	Share   int    // layers that have it
	On      string // the backend that runs it; empty: none
	Why     string // it is not the one asked, by design
	Reasons []reason
}

// A reason is why a value keeps its graph off a backend.
type reason struct {
	Value, Op, Why, Remedy string
}

// coverage asks each backend, of the module that the package stores.
func (s Source) coverage(stored *ir.Module) []coverage {
	var out []coverage
	for _, b := range s.Backends {
		c := coverage{Name: b.Name(), Doc: b.Doc}
		c.Reads = s.reads(b)
		if p := b.Packings(); !c.Reads && len(p) > 0 {
			c.Remedy = fmt.Sprintf("its programs read the packing %s, the package has %s: estream repack --backend %s", p[0].Name, s.Packing.Name, b.Name())
		}
		s.place(&c, b, stored)
		for _, g := range c.Graphs {
			if c.Of++; g.On == b.Name() {
				c.Runs++
			}
		}
		out = append(out, c)
	}
	return out
}

// reads reports whether programs of b read the package's packing.
func (s Source) reads(b Backend) bool {
	return slices.ContainsFunc(b.Packings(), func(p lower.Packing) bool { return p.Name == s.Packing.Name })
}

// place legalizes the stored module for b and fills in where each graph stands.
func (s Source) place(c *coverage, b Backend, stored *ir.Module) {
	var r passes.Report
	t := passes.Target{Host: b.Backend, Activation: s.activation()}
	if d, ok := b.Backend.(runtime.Device); ok {
		t = d.Target(s.Host)
		t.Activation = s.activation()
	}
	t.Report = &r
	m := stored.Clone()
	legalize, err := passes.Select(passes.Open(t), "legalize")
	if err == nil {
		err = passes.Run(m, legalize, nil)
	}
	if err != nil {
		c.Fault = err.Error()
	}
	share := map[string]int{}
	for _, class := range stored.Layers {
		share[class]++
	}
	for _, g := range stored.Graphs {
		class, _, _ := strings.Cut(g.Name, ".")
		x := covered{Graph: g.Name, Share: share[class]}
		if err == nil {
			x.On = standsOn(m.Graph(g.Name), t.Host)
		}
		for _, h := range r.Hosted {
			if h.Graph == g.Name {
				x.Reasons = s.reasons(b, h.Why)
			}
		}
		if err != nil {
			x.Reasons = s.refusals(t.Host, g)
		}
		if x.On != "" && x.On != b.Name() && len(x.Reasons) == 0 {
			x.Why = onHost(g.Name)
		}
		c.Graphs = append(c.Graphs, x)
	}
}

// standsOn is the backend that legalize gave a graph.
func standsOn(g *ir.Graph, host lower.Backend) string {
	if g.On != "" {
		return g.On
	}
	return host.Name()
}

// onHost says why a graph that no device refused is the host's.
func onHost(graph string) string {
	_, phase, _ := strings.Cut(graph, ".")
	switch phase {
	case passes.RoutePhase, passes.EarlyPhase:
		return "routing stays on the host, so that ties and NaN have one rule"
	case passes.ExpertsPhase:
		return "it calls the experts' graph, and stands where that does"
	}
	return "its rows have no tiers of fixed extents"
}

// refusals asks b about every value of g.
func (s Source) refusals(b lower.Backend, g *ir.Graph) []reason {
	var out []reason
	for _, v := range g.Values {
		if err := b.Supports(v); err != nil {
			value := strings.TrimSuffix(v.Label(), " = "+v.Op.Name)
			out = append(out, reason{value, v.Op.Name, strings.TrimSuffix(err.Error(), ": "+lower.ErrUnsupported.Error()), s.remedy(b, v.Op.Name, v.Op.Name+" "+err.Error())})
		}
	}
	return out
}

// refused is what legalize says of a value: graph, value, operator, and the rest.
var refused = regexp.MustCompile(`^graph (\S+): (%\d+\S*) = (\S+): (.*)$`)

// reasons reads why legalize left a graph on the host, each reason once, whatever
// tiers it was found in.
func (s Source) reasons(b Backend, why error) []reason {
	var out []reason
	for _, line := range strings.Split(why.Error(), "\n") {
		line = strings.TrimSuffix(line, ": "+lower.ErrUnsupported.Error())
		x := reason{Why: line, Remedy: "the host runs the graph; nothing need be done"}
		if f := refused.FindStringSubmatch(line); f != nil {
			x = reason{f[2], f[3], f[4], s.remedy(b.Backend, f[3], f[4])}
		}
		if !slices.ContainsFunc(out, func(old reason) bool { return old.Value == x.Value && old.Op == x.Op }) {
			out = append(out, x)
		}
	}
	return out
}

// encoded are the names of encodings in a printed type.
var encoded = regexp.MustCompile(`\bw[48]\w*\[`)

// remedy says what helps where b refuses an operator.
func (s Source) remedy(b lower.Backend, op, why string) string {
	if l, ok := b.(interface{ Ops() []*ir.Op }); ok && !slices.ContainsFunc(l.Ops(), func(o *ir.Op) bool { return o.Name == op }) {
		if s.Ops[op] != nil && b.Name() == s.Host.Name() {
			return fmt.Sprintf("give the host a function for %s by a plug-in (docs/adding-an-operator.md)", op)
		}
		return fmt.Sprintf("the host runs the graph meanwhile; for %s to run it, give it the operator %s (docs/adding-a-backend.md)", b.Name(), op)
	}
	if encoded.MatchString(why) {
		return fmt.Sprintf("the host runs the graph meanwhile; or pack with another --encoding: %s takes %s", b.Name(), strings.Join(types(b), ", "))
	}
	return "the host runs the graph; nothing need be done unless it is slow"
}

// types are those of matrices that b's packings take.
func types(b lower.Backend) []string {
	var out []string
	for d := ir.F32; d.String() != ir.Invalid.String(); d++ {
		takes := func(p lower.Packing) bool {
			_, err := p.Size(ir.Tensor(d, ir.N(256), ir.N(256)))
			return err == nil
		}
		if (d.Float() || d.Encoded()) && slices.ContainsFunc(b.Packings(), takes) {
			out = append(out, d.String())
		}
	}
	return out
}
