package models

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Weights is a family's table: the name of a weight in its graphs to where a
// checkpoint has it. Weights of experts' bodies begin with "expert.".
type Weights map[string]Weight

// A Weight is a tensor of the graphs and the places it may have in a checkpoint.
type Weight struct {
	Extents string   // names of extents, as Config.Extent says; a 1, never first, is in the checkpoint only, if there
	From    []Source // the first whose tensor is there is read
	Buffer  bool     // no parameter of the model, as people count those
}

// A Source is a recipe: the tensor of a checkpoint that a weight is read from, and how.
type Source struct {
	Name        string // {l} stands for the layer and {e} for the expert
	Part, Parts int    // the weight is part Part of Parts equal runs of rows; 0 Parts: all rows
	Stacked     bool   // the leading extent counts experts
	Transpose   bool   // stored as [in,out]; of matrices
	Interleaved bool   // each head's halves of rows are stored row by row in turn, as GGUF's llama converter has q and k; of heads of HeadDim
}

// At is a weight stored as it is, under one of several names (HF, GGUF).
func At(extents string, names ...string) Weight {
	w := Weight{Extents: extents}
	for _, n := range names {
		w.From = append(w.From, Source{Name: n})
	}
	return w
}

// Buffer is At for a weight that is no parameter.
func Buffer(extents string, names ...string) Weight {
	w := At(extents, names...)
	w.Buffer = true
	return w
}

// Or returns w with more places it may have.
func (w Weight) Or(more ...Source) Weight {
	w.From = append(slices.Clip(w.From), more...)
	return w
}

// With returns w with more added or replaced.
func (w Weights) With(more Weights) Weights {
	w = maps.Clone(w)
	maps.Copy(w, more)
	return w
}

// Without returns w without some of its weights.
func (w Weights) Without(names ...string) Weights {
	w = maps.Clone(w)
	maps.DeleteFunc(w, func(name string, _ Weight) bool { return slices.Contains(names, name) })
	return w
}

// LlamaWeights are the names that most checkpoints inherit. GGUF's llama
// converter, unlike the others, permutes the rows of q and k: a family that it
// serves replaces those two with Interleaved sources.
var LlamaWeights = Weights{
	"embed.weight":      At("V,H", "model.embed_tokens.weight", "token_embd.weight"),
	"final.norm.weight": At("H", "model.norm.weight", "output_norm.weight"),
	"head.weight":       At("V,H", "lm_head.weight", "output.weight"),
	"attn.norm.weight":  At("H", "model.layers.{l}.input_layernorm.weight", "blk.{l}.attn_norm.weight"),
	"attn.q.weight":     At("Q,H", "model.layers.{l}.self_attn.q_proj.weight", "blk.{l}.attn_q.weight"),
	"attn.k.weight":     At("K,H", "model.layers.{l}.self_attn.k_proj.weight", "blk.{l}.attn_k.weight"),
	"attn.v.weight":     At("K,H", "model.layers.{l}.self_attn.v_proj.weight", "blk.{l}.attn_v.weight"),
	"attn.o.weight":     At("H,Q", "model.layers.{l}.self_attn.o_proj.weight", "blk.{l}.attn_output.weight"),
	"ffn.norm.weight":   At("H", "model.layers.{l}.post_attention_layernorm.weight", "blk.{l}.ffn_norm.weight"),
}

// GatedWeights are the weights of Gated whose names begin with name: "ffn." of a
// dense layer, "shared." of experts that every token takes. width is the extent's
// name, gate, up and down the last parts of the names.
func GatedWeights(name, width, prefix, gate, up, down string) Weights {
	gguf := map[string]string{"shared.": "_shexp"}[name] + ".weight"
	return Weights{
		name + "gate.weight": At(width+",H", prefix+"."+gate+".weight", "blk.{l}.ffn_gate"+gguf),
		name + "up.weight":   At(width+",H", prefix+"."+up+".weight", "blk.{l}.ffn_up"+gguf),
		name + "down.weight": At("H,"+width, prefix+"."+down+".weight", "blk.{l}.ffn_down"+gguf),
	}
}

// ExpertWeights are the weights of SwiGLU experts of a width: under prefix one
// by one or stacked, with gate and up apart or fused (gate's rows first), or as
// GGUF stacks them. width is the extent's name, gate, up and down the last parts
// of the names.
func ExpertWeights(width, prefix, gate, up, down string) Weights {
	return Weights{
		"expert.gate.weight": expert(width+",H", prefix, gate, "ffn_gate").Or(fused(prefix, 0)...),
		"expert.up.weight":   expert(width+",H", prefix, up, "ffn_up").Or(fused(prefix, 1)...),
		"expert.down.weight": expert("H,"+width, prefix, down, "ffn_down"),
	}
}

func expert(extents, prefix, name, gguf string) Weight {
	return At(extents, prefix+".{e}."+name+".weight").Or(
		Source{Name: prefix + "." + name, Stacked: true},
		Source{Name: prefix + "." + name + ".weight", Stacked: true},
		Source{Name: "blk.{l}." + gguf + "_exps.weight", Stacked: true},
		Source{Name: "blk.{l}." + gguf + ".{e}.weight"}) // of the first files of Mixtral
}

func fused(prefix string, part int) []Source {
	return []Source{
		{Name: prefix + ".{e}.gate_up_proj.weight", Part: part, Parts: 2},
		{Name: prefix + ".gate_up_proj", Part: part, Parts: 2, Stacked: true},
		{Name: prefix + ".gate_up_proj.weight", Part: part, Parts: 2, Stacked: true},
		{Name: "blk.{l}.ffn_gate_up_exps.weight", Part: part, Parts: 2, Stacked: true},
	}
}

// at returns the tensor's name for a layer and an expert.
func (s Source) at(layer, expert int) string {
	name := strings.ReplaceAll(s.Name, "{l}", strconv.Itoa(layer))
	return strings.ReplaceAll(name, "{e}", strconv.Itoa(expert))
}

// gguf reports whether the name is spelled as GGUF spells names.
func (s Source) gguf() bool {
	first, _, _ := strings.Cut(s.Name, ".")
	return slices.Contains([]string{"blk", "token_embd", "token_embd_norm", "output_norm", "output"}, first)
}

// stored returns the extents that the tensor of a weight of extents dims has.
func (s Source) stored(dims []int, experts int) []int {
	dims = slices.Clone(dims)
	dims[0] *= max(1, s.Parts)
	if s.Transpose {
		slices.Reverse(dims)
	}
	if s.Stacked {
		dims = slices.Insert(dims, 0, experts)
	}
	return dims
}
