package ir

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Value is one node of a graph: an Op applied to earlier Values.
type Value struct {
	ID     int    // unique in its graph, positive
	Name   string // what people call it ("attn.q"); unique in its graph, may be empty. The layer is bound at run
	Origin string // "pass/%ID" of the value it was made from; empty if a family made it
	Op     *Op
	Type   Type
	Args   []*Value
	Attr   any
	Body   *Graph // of experts that are not extracted
	Slot   int    // the buffer that plan-memory gave it, counted from 1; 0: none
}

// String returns how other values refer to v.
func (v *Value) String() string { return fmt.Sprintf("%%%d", v.ID) }

// Label names v for people: "%3:attn.q = matmul", or "%3 = matmul".
func (v *Value) Label() string {
	if v.Name == "" {
		return fmt.Sprintf("%s = %s", v, v.Op)
	}
	return fmt.Sprintf("%s:%s = %s", v, v.Name, v.Op)
}

// Infer sets v's type again, after those of its operands have changed.
func (v *Value) Infer() error {
	t, err := v.Op.infer(typesOf(v.Args), v.Attr, v.Type)
	if err == nil {
		v.Type = t
	}
	return err
}

// Overwrites returns the operand that v is written over, or nil. An attribute
// that names no operand, which Verify refuses, overwrites none.
func (v *Value) Overwrites() *Value {
	a, ok := v.Attr.(interface{ inplace() int })
	if !ok || reflect.TypeOf(v.Attr).Kind() != reflect.Struct || a.inplace() < 0 || a.inplace() >= len(v.Args) {
		return nil
	}
	return v.Args[a.inplace()]
}

// A Graph is a list of Values in which every use follows its definition.
type Graph struct {
	Name    string
	On      string // the backend that runs it, set by legalize; empty: host
	Values  []*Value
	Outputs []*Value
}

// Inputs returns the values a call gives, in order, weights apart.
func (g *Graph) Inputs() []*Value { return g.all(Input) }

// Weights returns the weights a call binds, in order.
func (g *Graph) Weights() []*Value { return g.all(Weight) }

func (g *Graph) all(op *Op) []*Value {
	var vs []*Value
	for _, v := range g.Values {
		if v.Op == op {
			vs = append(vs, v)
		}
	}
	return vs
}

// Callee returns the name of the graph that g's experts call; "" if none do.
func (g *Graph) Callee() string {
	for _, v := range g.Values {
		if a, ok := v.Attr.(ExpertsAttr); ok && a.Callee != "" {
			return a.Callee
		}
	}
	return ""
}

// Value returns the value of a name, or nil.
func (g *Graph) Value(name string) *Value {
	i := slices.IndexFunc(g.Values, func(v *Value) bool { return v.Name == name && name != "" })
	if i < 0 {
		return nil
	}
	return g.Values[i]
}

// Add appends a value with the next free ID and infers its type; declared is
// the type of ops that infer none. It is how passes make values.
func (g *Graph) Add(op *Op, declared Type, attr any, args ...*Value) (*Value, error) {
	t, err := op.infer(typesOf(args), attr, declared)
	if err != nil {
		return nil, fmt.Errorf("graph %s: %s: %w", g.Name, op, err)
	}
	v := &Value{ID: g.nextID(), Op: op, Type: t, Args: args, Attr: attr}
	g.Values = append(g.Values, v)
	return v, nil
}

func (g *Graph) nextID() int {
	id := 0
	for _, v := range g.Values {
		id = max(id, v.ID)
	}
	return id + 1
}

// Uses returns how often each value is an operand or an output.
func (g *Graph) Uses() map[*Value]int {
	n := map[*Value]int{}
	for _, v := range g.Values {
		for _, a := range v.Args {
			n[a]++
		}
	}
	for _, o := range g.Outputs {
		n[o]++
	}
	return n
}

// Renumber gives the values of g, bodies included, the IDs 1, 2, 3, ... so that
// graphs that are equal print equal.
func (g *Graph) Renumber() {
	for i, v := range g.Values {
		v.ID = i + 1
		if v.Body != nil {
			v.Body.Renumber()
		}
	}
}

// Clone returns a deep copy of g.
func (g *Graph) Clone() *Graph {
	if g == nil {
		return nil
	}
	c, of := &Graph{Name: g.Name, On: g.On}, map[*Value]*Value{}
	for _, v := range g.Values {
		w := *v
		w.Args, w.Body = mapped(v.Args, of), v.Body.Clone()
		of[v] = &w
		c.Values = append(c.Values, &w)
	}
	c.Outputs = mapped(g.Outputs, of)
	return c
}

func mapped(vs []*Value, of map[*Value]*Value) []*Value {
	var out []*Value
	for _, v := range vs {
		out = append(out, of[v])
	}
	return out
}

// A Module is the graphs of one model.
//
// A family builds "embed", "layer0", "layer1", ... and "head". The split pass
// leaves classes of layers, whose phase graphs are named "<class>.<phase>", and
// Layers then names the class of each layer.
type Module struct {
	Layers []string // for each layer in order, its graph or, after split, its class
	Graphs []*Graph
}

// Graph returns the graph of a name, or nil.
func (m *Module) Graph(name string) *Graph {
	i := slices.IndexFunc(m.Graphs, func(g *Graph) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return m.Graphs[i]
}

// Callees returns the graphs of m that experts call, in m's order.
func (m *Module) Callees() []*Graph {
	called := map[string]bool{}
	for _, g := range m.Graphs {
		for _, v := range g.Values {
			if a, ok := v.Attr.(ExpertsAttr); ok && a.Callee != "" {
				called[a.Callee] = true
			}
		}
	}
	var gs []*Graph
	for _, g := range m.Graphs {
		if called[g.Name] {
			gs = append(gs, g)
		}
	}
	return gs
}

// Clone returns a deep copy of m.
func (m *Module) Clone() *Module {
	c := &Module{Layers: slices.Clone(m.Layers)}
	for _, g := range m.Graphs {
		c.Graphs = append(c.Graphs, g.Clone())
	}
	return c
}

// Ops returns the names of the ops that m uses, sorted.
func (m *Module) Ops() []string {
	var names []string
	for v := range m.values() {
		names = append(names, v.Op.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// values yields every value of every graph and body.
func (m *Module) values() func(func(*Value) bool) {
	return func(yield func(*Value) bool) {
		for _, g := range m.Graphs {
			for _, v := range g.Values {
				if !yield(v) {
					return
				}
				if v.Body == nil {
					continue
				}
				for _, w := range v.Body.Values {
					if !yield(w) {
						return
					}
				}
			}
		}
	}
}

func typesOf(vs []*Value) []Type {
	t := make([]Type, len(vs))
	for i, v := range vs {
		t[i] = v.Type
	}
	return t
}

// isName reports whether s may name a graph, a value or an op: letters, digits,
// and any of . _ - @ and comma (static forms are named G@T8,S16), a letter first.
func isName(s string) bool {
	if s == "" || !(s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@,") == ""
}
