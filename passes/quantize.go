package passes

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/ir/quant"
)

// A Policy says which element type each kind of weight gets. ir.Invalid stands
// for exact: the type that the checkpoint has.
type Policy struct {
	Experts   ir.DType // matrices of experts
	Attention ir.DType // other matrices of layers; routers, and those of fewer rows than leastRows, are exact
	Head      ir.DType // matrices of the head
	Embed     ir.DType // the embedding's table: w8 or a plain type

	// Exact returns the checkpoint's type of a weight of a graph, a plain one.
	// Nil: weights that stay exact keep the type they have.
	Exact func(graph, weight string) ir.DType
}

// apply sets the types of weights, and of keys and values in growing states:
// bf16 where the layer has an encoded weight.
func (p Policy) apply(m *ir.Module, r *Report) error {
	if err := p.check(); err != nil {
		return err
	}
	for _, g := range m.Graphs {
		encoded, err := p.graph(g, g.Name, p.matrices(g), r)
		if err != nil {
			return err
		}
		if encoded {
			narrowStates(g, r)
		}
		if err := retype(g); err != nil {
			return err
		}
	}
	return nil
}

func (p Policy) check() error {
	for _, d := range []ir.DType{p.Experts, p.Attention, p.Head} {
		if d != ir.Invalid && !d.Float() && !d.Encoded() {
			return fmt.Errorf("policy: matrices cannot be %s: want a plain type or an encoding", d)
		}
	}
	if d := p.Embed; d != ir.Invalid && d != ir.W8 && !d.Float() {
		return fmt.Errorf("policy: embeddings cannot be %s: want w8 or a plain type", d)
	}
	return nil
}

// A choice is the type that a policy wants for a weight, and why.
type choice struct {
	want   ir.DType // ir.Invalid: exact
	reason string
}

// leastRows is how many rows a matrix of a layer has, at least, to be encoded: a
// gate has one, or one a head, and weighs whole vectors by what it returns.
const leastRows = 32

// matrices returns what the policy wants for g's weights that matmul alone reads.
func (p Policy) matrices(g *ir.Graph) func(w *ir.Value) choice {
	routers := routerWeights(g)
	return func(w *ir.Value) choice {
		switch {
		case routers[w]:
			return choice{reason: "router"}
		case g.Name == "head":
			return choice{p.Head, "head"}
		case w.Type.Dims[0].N < leastRows:
			return choice{reason: fmt.Sprintf("gate or the like, of %d rows", w.Type.Dims[0].N)}
		}
		return choice{p.Attention, "matrix of a layer"}
	}
}

// graph sets the types of g's weights and of its experts' bodies, and reports
// whether any is encoded. name is the graph that decisions are told of.
func (p Policy) graph(g *ir.Graph, name string, matrix func(*ir.Value) choice, r *Report) (encoded bool, err error) {
	users := users(g)
	for _, v := range g.Values {
		if v.Body != nil {
			expert := func(*ir.Value) choice { return choice{p.Experts, "matrix of experts"} }
			inner, err := p.graph(v.Body, name, expert, r)
			if err != nil {
				return false, err
			}
			if err := retype(v.Body); err != nil {
				return false, err
			}
			encoded = encoded || inner
		}
		if v.Op != ir.Weight {
			continue
		}
		d, err := p.decide(name, v, users[v], matrix)
		if err != nil {
			return false, err
		}
		r.decide(d)
		v.Type.DType = d.To
		encoded = encoded || d.To.Encoded()
	}
	return encoded, nil
}

func (p Policy) decide(graph string, w *ir.Value, users []*ir.Value, matrix func(*ir.Value) choice) (Decision, error) {
	c := choice{reason: "not read by matmul alone"}
	switch {
	case readOnlyAs(w, users, ir.Embed, 0):
		c = choice{p.Embed, "embedding"}
	case readOnlyAs(w, users, ir.MatMul, 1):
		c = matrix(w)
	case w.Type.Rank() == 1:
		c.reason = "vector"
	}
	d := Decision{Graph: graph, Weight: w.Name, From: w.Type.DType, To: w.Type.DType, Reason: c.reason}
	if c.want != ir.Invalid {
		k := w.Type.Last().N
		if d.To = quant.Fit(c.want, k); d.To != c.want {
			d.Reason += fmt.Sprintf(", rows of %d values are no whole groups of %s", k, c.want)
		}
		return d, nil
	}
	d.Reason += ", exact"
	if p.Exact != nil {
		d.To = p.Exact(graph, w.Name)
	}
	if !d.To.Float() {
		return d, fmt.Errorf("graph %s: weight %s stays exact, but its type %s is not a plain one", graph, w.Name, d.To)
	}
	return d, nil
}

// readOnlyAs reports whether w is read, and only as operand i of ops op.
func readOnlyAs(w *ir.Value, users []*ir.Value, op *ir.Op, i int) bool {
	for _, u := range users {
		for j, a := range u.Args {
			if a == w && (u.Op != op || i != j) {
				return false
			}
		}
	}
	return len(users) > 0
}

// routerWeights returns the matrices that only the choice of experts depends on:
// those of matmuls that experts' ids or weights need and experts' x does not.
func routerWeights(g *ir.Graph) set {
	s := set{}
	for _, e := range g.Values {
		if e.Op != ir.Experts {
			continue
		}
		x, route := ancestors(g, e.Args[0]), ancestors(g, e.Args[1:]...)
		for v := range route {
			if v.Op == ir.MatMul && !x[v] {
				s[v.Args[1]] = true
			}
		}
	}
	return s
}

// narrowStates makes the parts of g's growing states bf16.
func narrowStates(g *ir.Graph, r *Report) {
	for _, v := range g.Inputs() {
		if v.Type.Kind != ir.Grow {
			continue
		}
		v.Type.Parts = slices.Clone(v.Type.Parts)
		for i := range v.Type.Parts {
			d := &v.Type.Parts[i].DType
			r.decide(Decision{g.Name, fmt.Sprintf("%s.%d", v.Name, i), *d, ir.BF16, "state of a layer with encoded weights"})
			*d = ir.BF16
		}
	}
}
