package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"estream/ir"
	"estream/models/checkpoint"
	"estream/passes"
)

// A Name says which value of a package a golden tensor is. In a golden file the
// tensor is <prompt>.<Golden>, or <prompt>.<Golden>.<layer>.
type Name struct {
	Golden string

	// Values are names of values of the graphs; the first that the layer has is
	// compared. "a+b" is a sum, and "side" the only output of the layer's side
	// graph: what shared experts give.
	Values []string
}

// Names returns the names that families share. A family that names values
// otherwise puts more before them.
func Names() []Name {
	return []Name{
		{"embed", []string{"embed"}},
		{"mixer_out", []string{"attn.o", "conv.out"}},
		{"router_logits", []string{"ffn.router"}},
		{"topk_ids", []string{"experts.ids"}},
		{"topk_weights", []string{"experts.weights"}},
		{"ffn_out", []string{"experts+side", "experts", "ffn.down"}},
		{"layer_out", []string{"y"}},
		{"final_norm", []string{"final.norm"}},
		{"logits", []string{"logits"}},
	}
}

const inputIDs = "input_ids"

// byPrompt sorts a golden file's tensors by prompt and name.
func byPrompt(tensors []checkpoint.Tensor) map[string]map[string]checkpoint.Tensor {
	all := map[string]map[string]checkpoint.Tensor{}
	for _, t := range tensors {
		prompt, name, ok := strings.Cut(t.Name, ".")
		if !ok {
			continue
		}
		if all[prompt] == nil {
			all[prompt] = map[string]checkpoint.Tensor{}
		}
		all[prompt][name] = t
	}
	return all
}

// A pair is a golden tensor and the values whose sum it is.
type pair struct {
	golden string // without the prompt
	value  string // as Name.Values says it
	layer  int    // -1: the embeddings; the number of layers: the head
	order  int    // within the layer
	graph  string // that computes the value
	terms  []string
}

// match finds the values of the package that the golden's tensors are, in the
// order in which a model computes them.
func (p *pkg) match(g *golden, o Options) (pairs []pair, skipped []string) {
	names := o.Names
	if names == nil {
		names = Names()
	}
	for tensor := range g.tensors {
		if x, ok := p.pair(tensor, names); ok {
			pairs = append(pairs, x)
		} else {
			skipped = append(skipped, tensor)
		}
	}
	slices.Sort(skipped)
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.order, b.order), cmp.Compare(a.golden, b.golden))
	})
	return pairs, skipped
}

func (p *pkg) pair(tensor string, names []Name) (pair, bool) {
	base, number, inLayer := strings.Cut(tensor, ".")
	layer, err := strconv.Atoi(number)
	if inLayer && (err != nil || layer < 0 || layer >= len(p.module.Layers)) {
		return pair{}, false
	}
	for _, n := range names {
		if n.Golden != base {
			continue
		}
		for _, value := range n.Values {
			x := pair{golden: tensor, value: value, layer: layer}
			if inLayer && p.find(&x, passes.ClassGraphs(p.module, p.module.Layers[layer])) {
				return x, true
			}
			if !inLayer && (p.end(&x, -1, "embed") || p.end(&x, len(p.module.Layers), "head.norm", "head.proj")) {
				return x, true
			}
		}
	}
	return pair{}, false
}

// end finds x in graphs before or behind the layers.
func (p *pkg) end(x *pair, layer int, graphs ...string) bool {
	x.layer = layer
	var gs []*ir.Graph
	for _, name := range graphs {
		if g := p.module.Graph(name); g != nil {
			gs = append(gs, g)
		}
	}
	return p.find(x, gs)
}

// find fills in where the graphs compute x: at the last of its terms.
func (p *pkg) find(x *pair, graphs []*ir.Graph) bool {
	x.terms, x.order = nil, 0
	for _, term := range strings.Split(x.value, "+") {
		found := false
		for i, g := range graphs {
			name := term
			if term == "side" && strings.HasSuffix(g.Name, ".side") && len(g.Outputs) == 1 {
				name = g.Outputs[0].Name
			}
			v := g.Value(name)
			if v == nil || v.Op == ir.Input || v.Op == ir.Weight {
				continue
			}
			found, x.terms = true, append(x.terms, name)
			if at := i*maxValues + slices.Index(g.Values, v); at >= x.order {
				x.order, x.graph = at, g.Name
			}
			break
		}
		if !found {
			return false
		}
	}
	return true
}

// maxValues is more than a graph has, for ordering.
const maxValues = 1 << 32
