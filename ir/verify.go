package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Verify reports the first broken invariant of m. Every pass leaves a module
// that Verify accepts.
//
//	I1  an operand is defined earlier in the same graph
//	I2  IDs are positive and unique, names are well formed and unique, in a graph; origins are one word
//	I3  operands and attribute are those the op declares; numbers are finite, strings one word
//	I4  the type is the one the op infers
//	I5  experts have either a body or a callee in the module; nothing else has; bodies and callees do not nest
//	I6  an operand written in place is not used afterwards, and has the result's type
//	I7  outputs are defined in their graph
//	I8  each symbol of a graph occurs in an input, or a weight, of that graph
//	I9  types are well formed: rank at most 8, extents positive, encodings of whole groups
//	I10 graph names are well formed and unique, backends one word; Layers names graphs or classes of the module
func (m *Module) Verify() error {
	names := map[string]bool{}
	for _, g := range m.Graphs {
		if !isName(g.Name) || names[g.Name] {
			return fmt.Errorf("I10: graph name %q is malformed or taken", g.Name)
		}
		names[g.Name] = true
	}
	for _, l := range m.Layers {
		isClass := func(g *Graph) bool { return strings.HasPrefix(g.Name, l+".") }
		if !isName(l) || !names[l] && !slices.ContainsFunc(m.Graphs, isClass) {
			return fmt.Errorf("I10: layer graph %q is not in the module", l)
		}
	}
	for _, c := range m.Callees() {
		if slices.ContainsFunc(c.Values, func(v *Value) bool { return v.Op == Experts }) {
			return fmt.Errorf("graph %s: I5: experts call it, and it has experts", c.Name)
		}
	}
	for _, g := range m.Graphs {
		if err := m.verifyCallees(g, names); err != nil {
			return err
		}
		if err := g.Verify(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Module) verifyCallees(g *Graph, names map[string]bool) error {
	for _, v := range g.Values {
		if a, ok := v.Attr.(ExpertsAttr); ok && a.Callee != "" && !names[a.Callee] {
			return fmt.Errorf("graph %s: %s: I5: callee %q is not in the module", g.Name, v, a.Callee)
		}
	}
	return nil
}

// isWord reports whether s, where Parse expects a word, reads back as it is.
func isWord(s string) bool { return strings.Join(strings.Fields(s), "") == s && s != ":" }

// Verify reports the first broken invariant of g alone: all of Module.Verify's
// but the callees.
func (g *Graph) Verify() error { return g.verify(false) }

func (g *Graph) verify(body bool) error {
	c := checker{def: map[*Value]bool{}, ids: map[int]bool{}, names: map[string]bool{}, gone: map[*Value]*Value{}, syms: map[string]bool{}, body: body}
	if !isWord(g.On) {
		return fmt.Errorf("graph %s: I10: backend %q is not one word", g.Name, g.On)
	}
	for _, v := range g.Values {
		if v.Op == nil {
			return fmt.Errorf("graph %s: %s: I3: no op", g.Name, v)
		}
		if v.Op == Input || v.Op == Weight {
			c.bind(v.Type)
		}
	}
	for _, v := range g.Values {
		if err := c.value(v); err != nil {
			return fmt.Errorf("graph %s: %s = %s: %w", g.Name, v, v.Op, err)
		}
		c.def[v] = true
	}
	for _, o := range g.Outputs {
		if !c.def[o] {
			return fmt.Errorf("graph %s: I7: output %s is not defined", g.Name, o)
		}
		if by := c.gone[o]; by != nil {
			return fmt.Errorf("graph %s: I6: output %s was written over by %s", g.Name, o, by)
		}
	}
	return nil
}

// A checker holds what is known at one point of a graph.
type checker struct {
	def   map[*Value]bool
	ids   map[int]bool
	names map[string]bool
	gone  map[*Value]*Value // written over, by which value
	syms  map[string]bool
	body  bool
}

func (c *checker) bind(t Type) {
	for _, d := range t.Dims {
		c.syms[d.Sym] = true
	}
	for _, p := range t.Parts {
		c.bind(p)
	}
}

func (c *checker) value(v *Value) error {
	for _, a := range v.Args {
		if !c.def[a] {
			return fmt.Errorf("I1: operand %s is not defined earlier", a)
		}
		if by := c.gone[a]; by != nil {
			return fmt.Errorf("I6: operand %s was written over by %s", a, by)
		}
	}
	if v.ID < 1 || c.ids[v.ID] {
		return fmt.Errorf("I2: id %d is not positive or taken", v.ID)
	}
	if v.Name != "" && (!isName(v.Name) || c.names[v.Name]) {
		return fmt.Errorf("I2: name %q is malformed or taken", v.Name)
	}
	if !isWord(v.Origin) {
		return fmt.Errorf("I2: origin %q is not one word", v.Origin)
	}
	c.ids[v.ID], c.names[v.Name] = true, true
	if err := c.types(v); err != nil {
		return err
	}
	if over := v.Overwrites(); over != nil {
		if !over.Type.Equal(v.Type) {
			return fmt.Errorf("I6: %s of type %s cannot hold %s", over, over.Type, v.Type)
		}
		c.gone[over] = v
	}
	return c.checkBody(v)
}

func (c *checker) types(v *Value) error {
	if err := v.Type.check(); err != nil {
		return fmt.Errorf("I9: %w", err)
	}
	if err := c.symbols(v.Type); err != nil {
		return err
	}
	if err := v.Op.checkOperands(typesOf(v.Args)); err != nil {
		return fmt.Errorf("I3: %w", err)
	}
	t, err := v.Op.infer(typesOf(v.Args), v.Attr, v.Type)
	if err != nil {
		return fmt.Errorf("I4: %w", err)
	}
	for _, f := range v.Fields() {
		if !f.reads() {
			return fmt.Errorf("I3: attribute field %s cannot be read again", f)
		}
	}
	if !t.Equal(v.Type) {
		return fmt.Errorf("I4: type is %s, want %s", v.Type, t)
	}
	if v.Slot < 0 {
		return fmt.Errorf("I2: slot %d is negative", v.Slot)
	}
	return nil
}

func (c *checker) symbols(t Type) error {
	for _, d := range t.Dims {
		if d.Sym != "" && !c.syms[d.Sym] {
			return fmt.Errorf("I8: no input or weight binds %s", d.Sym)
		}
	}
	for _, p := range t.Parts {
		if err := c.symbols(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkBody(v *Value) error {
	a, experts := v.Attr.(ExpertsAttr)
	switch {
	case !experts && v.Body == nil:
		return nil
	case !experts || (v.Body == nil) == (a.Callee == ""):
		return fmt.Errorf("I5: want a body or a callee on experts, and only there")
	case v.Body == nil:
		return nil
	case c.body:
		return fmt.Errorf("I5: experts within an expert")
	case !isName(v.Body.Name):
		return fmt.Errorf("I10: graph name %q is malformed", v.Body.Name)
	}
	if err := v.Body.verify(true); err != nil {
		return err
	}
	in, out := v.Body.Inputs(), v.Body.Outputs
	rows := Tensor(F32, R, v.Type.Last())
	if len(in) != 1 || len(out) != 1 || !in[0].Type.Equal(rows) || !out[0].Type.Equal(rows) {
		return fmt.Errorf("I5: the body must map one %s to one", rows)
	}
	return nil
}
