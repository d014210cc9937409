package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/pager/layout"
	"estream/passes"
)

// An Encoding is a name that people give to what becomes of the four kinds of
// weights.
type Encoding struct {
	Name                            string
	Experts, Attention, Head, Embed ir.DType
	Doc                             string
}

// Encodings are the names that pack takes, the default first. Router, norms and
// small tensors always stay as the checkpoint has them.
var Encodings = []Encoding{
	{"w4", ir.W4G64, ir.W8, ir.W8, ir.W8, "experts in int4 with groups of 64, the rest in int8"},
	{"w4g32", ir.W4G32, ir.W8, ir.W8, ir.W8, "experts in int4 with groups of 32, the rest in int8"},
	{"w4g64", ir.W4G64, ir.W8, ir.W8, ir.W8, "the same as w4"},
	{"w4g128", ir.W4G128, ir.W8, ir.W8, ir.W8, "experts in int4 with groups of 128, the rest in int8"},
	{"w4full", ir.W4Full32, ir.W8, ir.W8, ir.W8, "experts in int4 -8..7 with groups of 32 (Q4_0), the rest in int8; host only"},
	{"w8", ir.W8, ir.W8, ir.W8, ir.W8, "everything in int8"},
	{"bf16", ir.BF16, ir.BF16, ir.BF16, ir.BF16, "everything in bfloat16"},
	{"f32", ir.F32, ir.F32, ir.F32, ir.F32, "everything in float32"},
}

// FindEncoding returns the encoding of a name.
func FindEncoding(name string) (Encoding, error) {
	i := slices.IndexFunc(Encodings, func(e Encoding) bool { return e.Name == name })
	if i < 0 {
		return Encoding{}, fmt.Errorf("unknown encoding %q: use one of %s", name, strings.Join(names(), ", "))
	}
	return Encodings[i], nil
}

func names() []string {
	var out []string
	for _, e := range Encodings {
		out = append(out, e.Name)
	}
	return out
}

// ParseKind reads what one kind of weight is to become: "exact" is the
// checkpoint's own type, returned as ir.Invalid; w4 and w4full are what the
// encodings of those names make of experts.
func ParseKind(kind, s string) (ir.DType, error) {
	aliases := map[string]string{"w4": ir.W4G64.String(), "w4full": ir.W4Full32.String()}
	if s == "exact" {
		return ir.Invalid, nil
	}
	d, err := ir.ParseDType(cmp.Or(aliases[s], s))
	if err != nil || !d.Float() && !d.Encoded() {
		return d, fmt.Errorf("unknown encoding %q for %s: use exact, f32, bf16, w8, w4 (w4g64), w4g32, w4g128 or w4full (w4full32)", s, kind)
	}
	if kind == "embed" && !d.Float() && d != ir.W8 {
		return d, fmt.Errorf("encoding %s for embed: embeddings are read row by row and take exact, f32, bf16 or w8", s)
	}
	return d, nil
}

// summary says what became of each weight, the same in several graphs once, and
// how classes of experts differ; and of activations, where that matters.
func summary(e Encoding, r passes.Report) []layout.KeyValue {
	out := []layout.KeyValue{{Key: "encoding", Value: e.Name}}
	if slices.ContainsFunc(r.Decisions, func(d passes.Decision) bool { return d.To.Encoded() }) {
		out = append(out, layout.KeyValue{Key: "activations", Value: "a8: int8 with a scale a row, where weights are encoded"})
	}
	var order []string // all graphs
	at, graphs := map[layout.KeyValue]int{}, map[layout.KeyValue][]string{}
	for _, d := range r.Decisions {
		kv := layout.KeyValue{Key: d.Weight, Value: d.To.String() + ": " + d.Reason}
		if at[kv] == 0 {
			out = append(out, kv)
			at[kv] = len(out)
		}
		graphs[kv] = append(graphs[kv], d.Graph)
		if !slices.Contains(order, d.Graph) {
			order = append(order, d.Graph)
		}
	}
	for kv, i := range at {
		if n := len(graphs[kv]); n > 1 {
			out[i-1].Value += fmt.Sprintf(" (%d graphs, %s)", n, runs(graphs[kv], order))
		}
	}
	for _, c := range r.Classes {
		if c.Differs != "" {
			out = append(out, layout.KeyValue{Key: c.Callee, Value: "experts of " + c.Graph + " are a class of their own: " + c.Differs})
		}
	}
	return out
}

// runs names graphs that stand in an order; those that follow one another there by the first and the last.
func runs(graphs, order []string) string {
	var out []string
	for i := 0; i < len(graphs); {
		n := 1
		for at := slices.Index(order, graphs[i]); i+n < len(graphs) && at+n < len(order) && order[at+n] == graphs[i+n]; {
			n++
		}
		text := graphs[i]
		if n > 1 {
			text += " to " + graphs[i+n-1]
		}
		out, i = append(out, text), i+n
	}
	return strings.Join(out, ", ")
}
