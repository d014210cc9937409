package export

import (
	"encoding/json"
	"io"

	"estream/ir"
)

// Schema names what JSON writes; a change that readers must know of changes it.
const Schema = "estream-module/1"

type jsonModel struct {
	Schema  string      `json:"schema"`
	Name    string      `json:"name"`
	Layers  []string    `json:"layers"`
	Classes []jsonClass `json:"classes"`
	Ops     []jsonOp    `json:"ops"`
	Graphs  []jsonGraph `json:"graphs"`
	Flow    jsonFlow    `json:"flow"`
}

type jsonClass struct {
	Name   string   `json:"name"`
	Layers []int    `json:"layers"`
	Graphs []string `json:"graphs"`
}

type jsonOp struct {
	Name     string `json:"name"`
	Operands string `json:"operands"`
	Doc      string `json:"doc"`
}

type jsonGraph struct {
	Name    string      `json:"name"`
	On      string      `json:"on"`
	Callee  bool        `json:"callee"`
	Values  []jsonValue `json:"values"`
	Outputs []int       `json:"outputs"`
}

type jsonValue struct {
	ID     int            `json:"id"`
	Name   string         `json:"name"`
	Op     string         `json:"op"`
	Args   []int          `json:"args"`
	Attr   map[string]any `json:"attr"`
	Type   jsonType       `json:"type"`
	Slot   int            `json:"slot"`
	Origin string         `json:"origin"`
	Body   *jsonGraph     `json:"body"`
}

type jsonType struct {
	Text  string     `json:"text"`
	DType string     `json:"dtype"`
	Dims  []any      `json:"dims"`
	Kind  string     `json:"kind"`
	Parts []jsonType `json:"parts"`
}

type jsonFlow struct {
	Inputs  []jsonPort `json:"inputs"`
	Outputs []string   `json:"outputs"`
	Calls   []jsonCall `json:"calls"`
}

type jsonPort struct {
	Name string   `json:"name"`
	Type jsonType `json:"type"`
}

type jsonCall struct {
	Name  string     `json:"name"`
	Layer int        `json:"layer"`
	Graph string     `json:"graph"`
	In    []jsonTake `json:"in"`
	Out   []string   `json:"out"`
}

type jsonTake struct {
	From string `json:"from"`
	Rows string `json:"rows"`
}

// JSON writes all of m as one object, as docs/export.md describes it.
func JSON(w io.Writer, m Model) error {
	out := jsonModel{Schema: Schema, Name: m.Name, Layers: append([]string{}, m.Module.Layers...), Classes: []jsonClass{}, Ops: jsonOps(m.Module), Graphs: []jsonGraph{}}
	for _, c := range classes(m.Module) {
		x := jsonClass{Name: c.name, Layers: c.layers, Graphs: []string{}}
		for _, g := range c.graphs {
			x.Graphs = append(x.Graphs, g.Name)
		}
		out.Classes = append(out.Classes, x)
	}
	for _, g := range m.Module.Graphs {
		out.Graphs = append(out.Graphs, *graphJSON(g))
	}
	for _, callee := range m.Module.Callees() {
		for i, g := range m.Module.Graphs {
			out.Graphs[i].Callee = out.Graphs[i].Callee || g == callee
		}
	}
	out.Flow = flowJSON(flowOf(m.Module))
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// jsonOps describes the operators of m, sorted by name.
func jsonOps(m *ir.Module) []jsonOp {
	byName := map[string]*ir.Op{}
	for _, g := range m.Graphs {
		for _, v := range g.Values {
			byName[v.Op.Name] = v.Op
			if v.Body != nil {
				for _, b := range v.Body.Values {
					byName[b.Op.Name] = b.Op
				}
			}
		}
	}
	out := []jsonOp{}
	for _, name := range m.Ops() {
		op := byName[name]
		out = append(out, jsonOp{name, op.Operands, op.Doc})
	}
	return out
}

func graphJSON(g *ir.Graph) *jsonGraph {
	out := &jsonGraph{Name: g.Name, On: g.On, Values: []jsonValue{}, Outputs: idsOf(g.Outputs)}
	for _, v := range g.Values {
		x := jsonValue{ID: v.ID, Name: v.Name, Op: v.Op.Name, Args: idsOf(v.Args), Attr: map[string]any{}, Type: typeJSON(v.Type), Slot: v.Slot, Origin: v.Origin}
		for _, f := range v.Fields() {
			x.Attr[f.Name] = attrJSON(f.Value)
		}
		if v.Body != nil {
			x.Body = graphJSON(v.Body)
		}
		out.Values = append(out.Values, x)
	}
	return out
}

func idsOf(vs []*ir.Value) []int {
	ids := []int{}
	for _, v := range vs {
		ids = append(ids, v.ID)
	}
	return ids
}

func attrJSON(value any) any {
	switch x := value.(type) {
	case []ir.Dim:
		return dimsJSON(x)
	case ir.DType:
		return x.String()
	}
	return value
}

func typeJSON(t ir.Type) jsonType {
	out := jsonType{Text: t.String(), DType: t.DType.String(), Dims: dimsJSON(t.Dims), Parts: []jsonType{}}
	if t.DType == ir.State {
		out.Kind = t.Kind.String()
	}
	for _, p := range t.Parts {
		out.Parts = append(out.Parts, typeJSON(p))
	}
	return out
}

// dimsJSON are numbers, and strings where an extent has a symbol.
func dimsJSON(dims []ir.Dim) []any {
	out := []any{}
	for _, d := range dims {
		if d.Sym == "" {
			out = append(out, d.N)
		} else {
			out = append(out, d.String())
		}
	}
	return out
}

func flowJSON(f flow) jsonFlow {
	out := jsonFlow{Inputs: []jsonPort{}, Outputs: names(f.outputs), Calls: []jsonCall{}}
	for _, p := range f.inputs {
		out.Inputs = append(out.Inputs, jsonPort{p.name, typeJSON(p.typ)})
	}
	for _, c := range f.calls {
		x := jsonCall{Name: c.name, Layer: c.layer, Graph: c.graph.Name, In: []jsonTake{}, Out: names(c.out)}
		for _, p := range c.in {
			take := jsonTake{From: p.name}
			if p.rows != nil {
				take = jsonTake{From: p.rows.name, Rows: logitRows}
			}
			x.In = append(x.In, take)
		}
		out.Calls = append(out.Calls, x)
	}
	return out
}

func names(ports []port) []string {
	out := []string{}
	for _, p := range ports {
		out = append(out, p.name)
	}
	return out
}
