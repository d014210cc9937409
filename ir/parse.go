package ir

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a module in the form Module.String prints, whose ops are all in
// the set. Lines that start with # are comments. It checks the form and that
// operands are defined; call Verify for the rest.
func Parse(text string, ops Ops) (*Module, error) {
	p := parser{ops: ops}
	for n, line := range strings.Split(text, "\n") {
		if s := strings.TrimSpace(line); s == "" || s[0] == '#' {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("ir text, line %d: %w", n+1, err)
		}
	}
	if len(p.open) > 0 {
		return nil, fmt.Errorf("ir text: graph %s does not return", p.open[len(p.open)-1].Name)
	}
	return &p.m, nil
}

type parser struct {
	m    Module
	ops  Ops
	open []*Graph            // the graph being read and, within it, a body
	vals []map[string]*Value // of each open graph
}

func (p *parser) line(line string) error {
	f := strings.Fields(line)
	depth := (len(line) - len(strings.TrimLeft(line, " "))) / 4
	switch {
	case f[0] == "layers":
		if len(p.m.Layers) > 0 || len(p.m.Graphs) > 0 {
			return fmt.Errorf("layers must come first, once")
		}
		p.m.Layers = f[1:]
		return nil
	case f[0] == "graph":
		return p.graph(f, depth)
	case len(p.open) == 0 || depth != len(p.open)-1:
		return fmt.Errorf("%q stands outside its graph", f[0])
	case f[0] == "return":
		return p.end(f[1:])
	}
	v, err := p.value(f)
	if err != nil {
		return err
	}
	g := p.open[depth]
	g.Values = append(g.Values, v)
	return nil
}

func (p *parser) graph(f []string, depth int) error {
	on := len(f) == 4 && f[2] == "on"
	if len(f) != 2 && !on || depth != len(p.open) || depth > 1 {
		return fmt.Errorf("want graph NAME [on BACKEND], after the return of the one before or within its experts")
	}
	g := &Graph{Name: f[1]}
	if on {
		g.On = f[3]
	}
	if depth == 0 {
		p.m.Graphs = append(p.m.Graphs, g)
	} else {
		vs := p.open[depth-1].Values
		if len(vs) == 0 || vs[len(vs)-1].Body != nil {
			return fmt.Errorf("body of no value")
		}
		vs[len(vs)-1].Body = g
	}
	p.open, p.vals = append(p.open, g), append(p.vals, map[string]*Value{})
	return nil
}

func (p *parser) end(outputs []string) (err error) {
	last := len(p.open) - 1
	p.open[last].Outputs, err = p.args(outputs)
	p.open, p.vals = p.open[:last], p.vals[:last]
	return err
}

func (p *parser) args(refs []string) ([]*Value, error) {
	var vs []*Value
	for _, r := range refs {
		v := p.vals[len(p.vals)-1][r]
		if v == nil {
			return nil, fmt.Errorf("undefined value %s", r)
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// value parses one value's fields.
func (p *parser) value(f []string) (*Value, error) {
	colon := len(f) - 1
	for colon > 0 && f[colon] != ":" {
		colon--
	}
	if len(f) < 5 || f[1] != "=" || colon < 3 || colon+1 >= len(f) {
		return nil, fmt.Errorf("want %%ID[:NAME] = OP ARGS ATTRS : TYPE")
	}
	v := &Value{}
	id, name, named := strings.Cut(f[0], ":")
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "%")); err != nil || fmt.Sprintf("%%%d", n) != id || named && name == "" {
		return nil, fmt.Errorf("bad value %q", f[0])
	} else {
		v.ID, v.Name = n, name
	}
	if v.Op = p.ops[f[2]]; v.Op == nil {
		return nil, fmt.Errorf("unknown operator %q: a plug-in may declare it", f[2])
	}
	split := 3
	for split < colon && strings.HasPrefix(f[split], "%") {
		split++
	}
	var err error
	if v.Args, err = p.args(f[3:split]); err != nil {
		return nil, err
	}
	if v.Attr, err = parseAttr(v.Op, f[split:colon]); err != nil {
		return nil, err
	}
	if v.Type, err = ParseType(f[colon+1]); err != nil {
		return nil, err
	}
	p.vals[len(p.vals)-1][id] = v
	return v, parseTail(v, f[colon+2:])
}

// parseTail reads what may follow the type.
func parseTail(v *Value, f []string) error {
	for len(f) >= 2 {
		switch {
		case f[0] == "slot" && v.Slot == 0:
			n, err := strconv.Atoi(f[1])
			if err != nil || n < 1 || strconv.Itoa(n) != f[1] {
				return fmt.Errorf("bad slot %q", f[1])
			}
			v.Slot = n
		case f[0] == "from" && v.Origin == "":
			v.Origin = f[1]
		default:
			return fmt.Errorf("unexpected %q after the type", f[0])
		}
		f = f[2:]
	}
	if len(f) != 0 {
		return fmt.Errorf("unexpected %q after the type", f[0])
	}
	return nil
}

func parseAttr(op *Op, toks []string) (any, error) {
	if op.Attr == nil {
		if len(toks) > 0 {
			return nil, fmt.Errorf("%s takes no attribute, got %q", op, toks[0])
		}
		return nil, nil
	}
	attr := reflect.New(reflect.TypeOf(op.Attr)).Elem()
	fields := slices.DeleteFunc(attrFields(attr), func(f attrField) bool {
		given := func(tok string) bool { return strings.HasPrefix(tok, f.name+"=") }
		return f.omitzero && !slices.ContainsFunc(toks, given)
	})
	if len(toks) != len(fields) {
		return nil, fmt.Errorf("%s takes %d attribute fields, got %d", op, len(fields), len(toks))
	}
	for i, tok := range toks {
		name, val, _ := strings.Cut(tok, "=")
		if name != fields[i].name {
			return nil, fmt.Errorf("%s: attribute field %q, want %q", op, name, fields[i].name)
		}
		if err := setField(fields[i].value, val); err != nil {
			return nil, fmt.Errorf("%s: %s: bad value %q", op, name, val)
		}
	}
	return attr.Interface(), nil
}

func setField(f reflect.Value, val string) error {
	var x any
	var err error
	switch f.Interface().(type) {
	case string:
		x = val
	case int:
		x, err = strconv.Atoi(val)
	case bool:
		x, err = strconv.ParseBool(val)
	case DType:
		x, err = ParseDType(val)
	case []Dim:
		x, err = parseDims(val)
	case float64:
		var n float64
		if n, err = strconv.ParseFloat(val, 64); math.IsNaN(n) || math.IsInf(n, 0) {
			err = fmt.Errorf("not a number")
		}
		x = n
	}
	if err == nil {
		f.Set(reflect.ValueOf(x))
	}
	return err
}
