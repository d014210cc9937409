package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"estream/ir"
)

// What ONNX calls ours, and which of its versions is written: the first opset that
// has Swish, and the format that came with it.
const (
	opDomain    = "estream"        // operators that ONNX has not
	graphDomain = "estream.graphs" // functions, one a graph
	opset       = 24
	irVersion   = 12
)

// ONNX writes m as an ONNX model: a function for each graph, and a main graph that
// calls them in the order they run, layer by layer. Operators that are the same in
// ONNX have their names there, others are of the domain "estream". Weights are inputs
// of the functions, after the others, which no call gives: they are bound when a
// graph is run.
func ONNX(w io.Writer, m Model) error {
	x := onnx{m.Module}
	out := message{}.int(1, irVersion).string(2, "estream").sub(7, x.main(m.Name))
	for _, v := range []struct {
		domain  string
		version int64
	}{{"", opset}, {opDomain, 1}, {graphDomain, 1}} {
		out = out.sub(8, opsetID(v.domain, v.version))
	}
	for _, c := range classes(m.Module) {
		out = out.sub(14, pair("class "+c.name, "layers "+Ranges(c.layers)))
	}
	for _, g := range m.Module.Graphs {
		out = out.sub(25, x.function(g))
	}
	_, err := w.Write(out)
	return err
}

type onnx struct{ m *ir.Module }

// main is the GraphProto of all calls.
func (x onnx) main(name string) message {
	if name == "" {
		name = "model" // ONNX wants one
	}
	f := flowOf(x.m)
	g := message{}.string(2, name)
	for _, p := range f.inputs {
		g = g.sub(11, valueInfo(p.name, p.typ))
	}
	for _, p := range f.outputs {
		g = g.sub(12, valueInfo(p.name, p.typ))
	}
	given := records(f.calls)
	for i, c := range f.calls {
		if r := given[i]; r != nil && r.first == i {
			g = r.add(g)
		}
		for _, p := range c.in {
			if p.rows != nil {
				g = g.sub(1, node{op: "Gather", name: c.name + " rows", in: []string{p.rows.name, logitRows}, out: []string{p.name}}.message())
				g = g.sub(13, valueInfo(p.name, p.typ))
			}
		}
		n := node{domain: graphDomain, op: c.graph.Name, name: c.name, in: append(names(c.in), given[i].names(c.graph)...), out: names(c.out)}
		if c.layer >= 0 {
			n.properties = []message{pair("layer", strconv.Itoa(c.layer))}
		}
		g = g.sub(1, n.message())
		for _, p := range c.out {
			if !slices.ContainsFunc(f.outputs, func(o port) bool { return o.name == p.name }) {
				g = g.sub(13, valueInfo(p.name, p.typ))
			}
		}
	}
	return g
}

// function is the FunctionProto of a graph.
func (x onnx) function(g *ir.Graph) message {
	b := x.nodes(g, "")
	f := message{}.string(1, g.Name).string(10, graphDomain)
	f = f.strings(4, b.inputs).strings(5, b.outputs)
	for _, n := range b.nodes {
		f = f.sub(7, n.message())
	}
	for _, v := range g.Values {
		f = f.sub(12, describe(b.names[v], v))
	}
	for _, domain := range []string{"", opDomain, graphDomain} {
		f = f.sub(9, opsetID(domain, map[bool]int64{true: opset, false: 1}[domain == ""]))
	}
	if g.On != "" {
		f = f.sub(14, pair("on", g.On))
	}
	return f
}

// body is the GraphProto of experts: their body, or a call of their callee.
func (x onnx) body(experts *ir.Value) message {
	if experts.Body != nil {
		return x.bodyGraph(experts.Body)
	}
	callee := x.m.Graph(experts.Attr.(ir.ExpertsAttr).Callee)
	if callee == nil {
		return nil // the module does not verify
	}
	prefix := callee.Name + "/"
	call := node{domain: graphDomain, op: callee.Name, name: callee.Name}
	g := message{}.string(2, callee.Name)
	for _, v := range callee.Inputs() {
		call.in = append(call.in, prefix+label(v))
		g = g.sub(11, valueInfo(prefix+label(v), v.Type))
	}
	r := newRecord(0, prefix+"record")
	r.take(callee)
	call.in = append(call.in, r.names(callee)...)
	g = r.add(g)
	for i, v := range callee.Outputs {
		out := part(prefix+label(v), fmt.Sprint("out.", i))
		call.out = append(call.out, out)
		g = g.sub(12, valueInfo(out, v.Type))
	}
	return g.sub(1, call.message())
}

func (x onnx) bodyGraph(body *ir.Graph) message {
	b := x.nodes(body, body.Name+"/")
	g := message{}.string(2, body.Name)
	for _, n := range b.nodes {
		g = g.sub(1, n.message())
	}
	for _, v := range slices.Concat(body.Inputs(), body.Weights()) {
		g = g.sub(11, describe(b.names[v], v))
	}
	for _, v := range body.Values {
		if !isGiven(v) && !slices.Contains(body.Outputs, v) {
			g = g.sub(13, describe(b.names[v], v))
		}
	}
	for i, v := range body.Outputs {
		g = g.sub(12, valueInfo(b.outputs[i], v.Type))
	}
	return g
}

// nodes makes the nodes of a graph, whose names get a prefix.
func (x onnx) nodes(g *ir.Graph, prefix string) *nodeBuilder {
	b := &nodeBuilder{names: map[*ir.Value]string{}}
	var weights []string
	for _, v := range g.Values {
		b.names[v] = prefix + label(v)
		switch v.Op {
		case ir.Input:
			b.inputs = append(b.inputs, b.names[v])
		case ir.Weight:
			weights = append(weights, b.names[v])
		default:
			b.value(x, v)
		}
	}
	b.inputs = append(b.inputs, weights...)
	for i, v := range g.Outputs {
		name := b.names[v]
		if isGiven(v) || slices.Contains(b.outputs, name) { // ONNX has each name once, and no input for an output
			copied := part(name, fmt.Sprint("out.", i))
			b.nodes = append(b.nodes, node{op: "Identity", name: copied, in: []string{name}, out: []string{copied}})
			name = copied
		}
		b.outputs = append(b.outputs, name)
	}
	return b
}

// isGiven reports whether v is an input or a weight.
func isGiven(v *ir.Value) bool { return v.Op == ir.Input || v.Op == ir.Weight }
