package passes

import (
	"fmt"
	"slices"

	"estream/ir"
)

// quantize makes x of each matmul by an encoded weight a quantized activation, on
// graphs that the host runs. One value is quantized once in a layer, in the first
// graph that has it; later ones take the result as an input.
func (t Target) quantize(m *ir.Module) error {
	for _, c := range m.Callees() {
		if err := t.gatherQuantized(c); err != nil {
			return err
		}
	}
	for _, c := range chains(m) {
		for i, g := range c {
			if g.On != "" {
				continue
			}
			if err := t.quantizeGraph(m, c, i); err != nil {
				return fmt.Errorf("graph %s: %w", g.Name, err)
			}
		}
		for _, g := range c {
			if err := retype(g); err != nil {
				return err
			}
			g.Renumber()
		}
	}
	return nil
}

// A chain is graphs that run one after another: an input of one is the value of
// that name of an earlier one, or comes from outside.
type chain []*ir.Graph

// chains returns every graph of m in one chain.
func chains(m *ir.Module) []chain {
	var cs []chain
	taken := map[*ir.Graph]bool{}
	add := func(gs ...*ir.Graph) {
		gs = slices.DeleteFunc(gs, func(g *ir.Graph) bool { return g == nil || taken[g] })
		for _, g := range gs {
			taken[g] = true
		}
		cs = append(cs, gs)
	}
	for _, class := range m.Layers {
		add(ClassGraphs(m, class)...)
	}
	add(m.Graph(HeadNorm), m.Graph(HeadProj))
	for _, g := range m.Graphs {
		add(g)
	}
	return cs
}

// wants returns the type that the host wants x in to multiply it by w, or
// ir.Invalid if x is right as it is.
func (t Target) wants(x, w *ir.Value) ir.DType {
	if !x.Type.DType.Float() || !w.Type.DType.Encoded() {
		return ir.Invalid
	}
	d := t.Activation(w.Type.DType)
	if d != ir.Invalid && x.Type.Last().N%d.Group(x.Type.Last().N) != 0 {
		return ir.A8
	}
	return d
}

// gatherQuantized lets an expert gather quantized rows, if it needs nothing but
// those of one type.
func (t Target) gatherQuantized(c *ir.Graph) error {
	x := c.Value("x")
	if x == nil || x.Op != ir.Input || c.On != "" || slices.Contains(c.Outputs, x) {
		return nil
	}
	users := users(c)
	var want ir.DType
	for _, gathered := range users[x] {
		if gathered.Op != ir.GatherRows || slices.Contains(c.Outputs, gathered) {
			return nil
		}
		for _, v := range users[gathered] {
			if v.Op != ir.MatMul || v.Args[0] != gathered {
				return nil
			}
			d := t.wants(gathered, v.Args[1])
			if d == ir.Invalid || want != ir.Invalid && want != d {
				return nil
			}
			want = d
		}
	}
	if want == ir.Invalid {
		return nil
	}
	x.Type.DType = want
	return retype(c)
}

// quantizeGraph quantizes what matmuls, and experts that gather quantized rows,
// of c[i] need.
func (t Target) quantizeGraph(m *ir.Module, c chain, i int) error {
	for _, v := range slices.Clone(c[i].Values) {
		want := ir.Invalid
		switch v.Op {
		case ir.MatMul:
			want = t.wants(v.Args[0], v.Args[1])
		case ir.Experts:
			callee := m.Graph(v.Attr.(ir.ExpertsAttr).Callee)
			if callee == nil || callee.Value("x") == nil {
				return fmt.Errorf("%s: its callee has no input x", v.Label())
			}
			if d := callee.Value("x").Type.DType; d.Activation() && v.Args[0].Type.DType.Float() {
				want = d
			}
		}
		if want == ir.Invalid {
			continue
		}
		if err := c.quantizeOperand(i, v, want); err != nil {
			return fmt.Errorf("%s: %w", v.Label(), err)
		}
	}
	return nil
}

// quantizeOperand gives v, of c[i], its first operand in type d.
func (c chain) quantizeOperand(i int, v *ir.Value, d ir.DType) error {
	g, x := c[i], v.Args[0]
	j := c.holder(i, x)
	if j < 0 {
		return fmt.Errorf("no graph before it on the host can quantize %s", x.Name)
	}
	if j == i {
		q, err := quantized(g, x, d, slices.Index(g.Values, v))
		v.Args[0] = q
		return err
	}
	h := c[j]
	q, err := quantized(h, h.Value(x.Name), d, len(h.Values))
	if err != nil {
		return err
	}
	if !slices.Contains(h.Outputs, q) {
		h.Outputs = append(h.Outputs, q)
	}
	if v.Args[0], err = passedOn(g, x, q); err == nil && g.Uses()[x] == 0 {
		g.Values = slices.DeleteFunc(g.Values, func(u *ir.Value) bool { return u == x })
	}
	return err
}

// holder returns which graph quantizes x of c[i]: the first on the host that has
// the value, or c[i] if it makes it; -1: none.
func (c chain) holder(i int, x *ir.Value) int {
	if x.Op != ir.Input || x.Name == "" {
		return i
	}
	return slices.IndexFunc(c[:i+1], func(g *ir.Graph) bool {
		routed := slices.ContainsFunc(g.Values, func(v *ir.Value) bool { return v.Op == ir.Experts })
		return g.On == "" && !routed && g.Value(x.Name) != nil
	})
}

// quantized returns x in type d: the value of g that is that already, or a new
// one at place at.
func quantized(g *ir.Graph, x *ir.Value, d ir.DType, at int) (*ir.Value, error) {
	for _, v := range g.Values {
		if v.Op == ir.Quantize && v.Args[0] == x && v.Type.DType == d {
			return v, nil
		}
	}
	name := ""
	if x.Name != "" {
		name = x.Name + "." + d.String()
	}
	return insert(g, at, name, x, ir.Quantize, ir.Type{}, ir.QuantizeAttr{To: d}, x)
}

// passedOn returns g's input that takes q, which a graph before it makes of g's
// input x.
func passedOn(g *ir.Graph, x, q *ir.Value) (*ir.Value, error) {
	if in := g.Value(q.Name); in != nil && in.Op == ir.Input && in.Type.Equal(q.Type) {
		return in, nil
	}
	return insert(g, slices.Index(g.Values, x)+1, q.Name, x, ir.Input, q.Type, nil)
}

// insert adds a value made of v at a place of g.
func insert(g *ir.Graph, at int, name string, v *ir.Value, op *ir.Op, declared ir.Type, attr any, args ...*ir.Value) (*ir.Value, error) {
	if g.Value(name) != nil {
		return nil, fmt.Errorf("graph %s has a value named %s already", g.Name, name)
	}
	w, err := g.Add(op, declared, attr, args...)
	if err != nil {
		return nil, err
	}
	w.Name, w.Origin = name, origin("legalize", v)
	last := len(g.Values) - 1
	g.Values = slices.Insert(g.Values[:last], at, w)
	return w, nil
}
