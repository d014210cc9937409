package export

import "estream/ir"

// A record is the weights that are bound together where some graphs are called:
// one node, which has them as results.
type record struct {
	first  int    // of the calls that take from it
	name   string // of the node
	values []*ir.Value
	types  map[string]string // of values, by name
}

func newRecord(first int, name string) *record {
	return &record{first, name, nil, map[string]string{}}
}

// records returns the record of each call: layers have one for all their calls. It
// is nil where no weights are bound.
func records(calls []call) []*record {
	out := make([]*record, len(calls))
	layers := map[int]*record{}
	for i, c := range calls {
		if len(c.graph.Weights()) == 0 {
			continue
		}
		r := layers[c.layer]
		switch {
		case c.layer < 0:
			r = newRecord(i, c.name+"/record") // not as that of a layer, which the graph may be named like
		case r == nil:
			r = newRecord(i, layerName(c.layer)+".record")
			layers[c.layer] = r
		}
		r.take(c.graph)
		out[i] = r
	}
	return out
}

// take adds the weights of g that r has not yet.
func (r *record) take(g *ir.Graph) {
	for _, w := range g.Weights() {
		if key := r.key(w); r.types[key] == "" {
			r.types[key] = w.Type.String()
			r.values = append(r.values, w)
		}
	}
}

// key names a weight, with its type if the record has one of that name but of
// another type.
func (r *record) key(w *ir.Value) string {
	name := r.name + "/" + label(w)
	if t := r.types[name]; t != "" && t != w.Type.String() {
		name += ":" + w.Type.String()
	}
	return name
}

// names returns what g's weights are called where it is called.
func (r *record) names(g *ir.Graph) []string {
	var out []string
	for _, w := range g.Weights() {
		out = append(out, r.key(w))
	}
	return out
}

// add adds the node to a GraphProto.
func (r *record) add(g message) message {
	n := node{domain: opDomain, op: "record", name: r.name}
	for _, w := range r.values {
		n.out = append(n.out, r.key(w))
		g = g.sub(13, describe(r.key(w), w))
	}
	return g.sub(1, n.message())
}
