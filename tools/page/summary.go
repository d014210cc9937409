package page

import (
	"fmt"
	"html/template"
	"strings"

	"estream/ir"
	"estream/pager/layout"
	"estream/passes"
)

// A summary is what the top of the page says.
type summary struct {
	Layers, Hidden int
	Classes        []class
	Kinds          []kind
	Total          int64 // bytes of weights
	Policy, From   []layout.KeyValue
	Encoding       string
}

// A class is layers that share graphs.
type class struct {
	Name      string
	Share     int
	Layers    string
	Graphs    []string
	Values    int // of all its graphs
	Bytes     int64
	Callee    string
	Experts   int // of a layer
	Chosen    int // of a token
	Each      int64
	EachFlops int64 // multiplications and additions of a row
}

// A kind is the weights of one use and type.
type kind struct {
	Name, Type    string
	Values, Bytes int64
	Share         float64 // of all bytes, in percent
	Bits          float64 // a value
}

func (s Source) summarize(m *ir.Module) summary {
	out := summary{Layers: len(m.Layers), Classes: s.classes(m)}
	if e := m.Graph(passes.EmbedGraph); e != nil && len(e.Outputs) > 0 {
		out.Hidden = e.Outputs[0].Type.Last().N
	}
	for _, k := range s.Census.Kinds {
		out.Total += k.Bytes
	}
	for _, k := range s.Census.Kinds {
		out.Kinds = append(out.Kinds, kind{k.Name, k.Type.String(), k.Values, k.Bytes, 100 * float64(k.Bytes) / float64(max(1, out.Total)), 8 * float64(k.Bytes) / float64(max(1, k.Values))})
	}
	for _, kv := range s.Manifest.Policy {
		if kv.Key == "encoding" {
			out.Encoding = kv.Value
		} else {
			out.Policy = append(out.Policy, kv)
		}
	}
	out.From = s.Manifest.Provenance
	return out
}

func (s Source) classes(m *ir.Module) []class {
	layers, order := map[string][]int{}, []string{}
	for l, name := range m.Layers {
		if layers[name] == nil {
			order = append(order, name)
		}
		layers[name] = append(layers[name], l)
	}
	records, err := passes.Records(m, s.Packing)
	if err != nil {
		return nil // look has refused it
	}
	var out []class
	for _, name := range order {
		c := class{Name: name, Share: len(layers[name]), Layers: ranges(layers[name]), Bytes: records[name].Len}
		for _, g := range m.Graphs {
			if phase, ok := strings.CutPrefix(g.Name, name+"."); ok {
				c.Graphs, c.Values = append(c.Graphs, phase), c.Values+len(g.Values)
			}
		}
		if callee, n, err := passes.Routed(m, name); err == nil && n > 0 {
			c.Callee, c.Experts, c.Each = callee, n, records[callee].Len
			c.Chosen = chosen(m.Graph(name + "." + passes.ExpertsPhase))
			for _, w := range records[callee].Weights {
				if w.Matrix {
					c.EachFlops += 2 * values(w.Type)
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// chosen is how many experts a token has.
func chosen(g *ir.Graph) int {
	for _, v := range g.Values {
		if v.Op == ir.Experts {
			return v.Args[1].Type.Last().N
		}
	}
	return 0
}

// policy says why each weight has its type, by the weight's name.
func (s Source) policy() map[string]string {
	out := map[string]string{}
	for _, kv := range s.Manifest.Policy {
		if old := out[kv.Key]; old != "" {
			kv.Value = old + "; " + kv.Value
		}
		out[kv.Key] = kv.Value
	}
	return out
}

// functions are those of the template.
func functions() template.FuncMap {
	return template.FuncMap{
		"size":  size,
		"count": count,
		"num":   digits,
		"join":  func(s []string) string { return strings.Join(s, ", ") },
		"mul":   func(a int, b int64) int64 { return int64(a) * b },
		"pct":   func(x float64) string { return fmt.Sprintf("%.1f %%", x) },
		"per":   func(a, b int64) float64 { return 100 * float64(a) / float64(max(1, b)) },
	}
}

// size prints bytes: 17.1 GiB.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1024, 0
	for x >= 1024 && unit < 3 {
		x, unit = x/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", x, "KMGT"[unit])
}

// digits prints a number in groups of three digits.
func digits(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count prints a number of values: 30.53 billion.
func count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f billion", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1f thousand", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
