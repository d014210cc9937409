package export

import (
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/passes"
)

// A flow is how the graphs of a module are called, layer by layer, and what each
// call hands to later ones. Guesses of routes (early) are not called in it, nor
// are forms of graphs for backends of fixed extents.
type flow struct {
	calls   []call
	inputs  []port // what the caller of all gives
	outputs []port // what no call takes
}

// A call is a graph at its place in the model.
type call struct {
	name  string // "embed", "layer3.body"
	layer int    // -1: of none
	graph *ir.Graph
	in    []port // one for each input of graph
	out   []port // one for each output of graph
}

// A port is a value that crosses graphs.
type port struct {
	name  string // unique in its flow
	typ   ir.Type
	graph *ir.Graph // that made it; nil: the caller
	value *ir.Value
	rows  *port // of which this is the rows that logits are asked for; nil: it is no such
}

const earlySuffix = "." + passes.EarlyPhase

// logitRows is the input that says for which rows logits are asked.
const logitRows = "logit_rows"

// layerGraphs returns the graphs of a layer, in the order they run.
func layerGraphs(m *ir.Module, layer string) []*ir.Graph {
	if g := m.Graph(layer); g != nil {
		return []*ir.Graph{g}
	}
	return passes.ClassGraphs(m, layer)
}

func layerName(layer int) string { return fmt.Sprintf("layer%d", layer) }

// flowOf wires the graphs of m by the names of what they take and return.
func flowOf(m *ir.Module) flow {
	w := wirer{taken: map[string]bool{}, given: map[string]port{}}
	done := map[*ir.Graph]bool{}
	section := func(layer int, graphs ...*ir.Graph) {
		w.scope = map[string]port{}
		for _, g := range graphs {
			if g != nil {
				done[g] = true
				w.call(layer, g)
			}
		}
	}
	section(-1, m.Graph(passes.EmbedGraph))
	w.advance("embed")
	for l, name := range m.Layers {
		section(l, layerGraphs(m, name)...)
		w.advance("y")
		if early := m.Graph(name + earlySuffix); early != nil {
			done[early] = true
		}
	}
	section(-1, m.Graph("head"), m.Graph(passes.HeadNorm), m.Graph(passes.HeadProj))
	callees := m.Callees()
	w.residual = nil
	for _, g := range m.Graphs { // those of a module that is no model
		if !done[g] && !slices.Contains(callees, g) && !strings.Contains(g.Name, "@") {
			section(-1, g)
		}
	}
	return w.finish()
}

type wirer struct {
	flow
	taken    map[string]bool // names of ports
	given    map[string]port // inputs of the whole that all graphs share, by name
	scope    map[string]port // what graphs of the layer have made
	residual *port           // what the layer before has made
}

// advance makes what the graphs of scope call name the next layer's x.
func (w *wirer) advance(name string) {
	if p, ok := w.scope[name]; ok {
		w.residual = &p
	}
}

func (w *wirer) call(layer int, g *ir.Graph) {
	c := call{name: g.Name, layer: layer, graph: g}
	prefix := ""
	if layer >= 0 {
		c.name = layerName(layer)
		prefix = c.name + "."
		if _, phase, split := strings.Cut(g.Name, "."); split {
			c.name = prefix + phase
		}
	}
	for _, v := range g.Inputs() {
		c.in = append(c.in, w.take(prefix, c.name, v))
	}
	for _, v := range g.Outputs {
		p := port{w.unique(prefix + label(v)), v.Type, g, v, nil}
		w.scope[v.Name] = p
		c.out = append(c.out, p)
	}
	w.calls = append(w.calls, c)
}

// take returns what input v of a call is given.
func (w *wirer) take(prefix, call string, v *ir.Value) port {
	if p, ok := w.scope[v.Name]; ok && v.Name != "" && p.typ.Equal(v.Type) {
		return p
	}
	if x := w.residual; x != nil && v.Name == "x" {
		if x.typ.Equal(v.Type) {
			return *x
		}
		if asked := v.Type.Rank() > 0 && v.Type.Dims[0] == ir.L; asked {
			w.give(logitRows, ir.Tensor(ir.I32, ir.L))
			return port{name: w.unique(call + ".x"), typ: v.Type, graph: x.graph, value: x.value, rows: x}
		}
	}
	if v.Type.DType == ir.State {
		return w.own(prefix+label(v), v.Type)
	}
	if p, ok := w.given[v.Name]; !ok && v.Name != "" {
		return w.give(v.Name, v.Type)
	} else if ok && p.typ.Equal(v.Type) {
		return p
	}
	return w.own(call+"."+label(v), v.Type)
}

// give returns the input of the whole that graphs share under a name.
func (w *wirer) give(name string, t ir.Type) port {
	if p, ok := w.given[name]; ok {
		return p
	}
	p := w.own(name, t)
	w.given[name] = p
	return p
}

func (w *wirer) own(name string, t ir.Type) port {
	p := port{name: w.unique(name), typ: t}
	w.inputs = append(w.inputs, p)
	return p
}

func (w *wirer) unique(name string) string {
	free := name
	for i := 2; w.taken[free]; i++ {
		free = fmt.Sprintf("%s.%d", name, i)
	}
	w.taken[free] = true
	return free
}

// finish finds what no call takes.
func (w *wirer) finish() flow {
	used := map[string]bool{}
	for _, c := range w.calls {
		for _, p := range c.in {
			used[p.name] = true
			if p.rows != nil {
				used[p.rows.name] = true
			}
		}
	}
	for _, c := range w.calls {
		for _, p := range c.out {
			if !used[p.name] {
				w.outputs = append(w.outputs, p)
			}
		}
	}
	return w.flow
}
