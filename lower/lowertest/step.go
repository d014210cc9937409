package lowertest

import (
	"estream/ir"
	"estream/ir/interp"
)

// A step is which tokens each sequence adds to what it holds.
type step struct {
	name   string
	new    []int
	past   []int
	parent []int // nil: none has one
	prefix []int // rows shared with the parent; nil: none
}

// steps are what a scheduler may ask for.
var steps = []step{
	{name: "first token", new: []int{1}, past: []int{0}},
	{name: "prompt", new: []int{11}, past: []int{0}},
	{name: "one more", new: []int{1}, past: []int{9}},
	{name: "chunk of a prompt", new: []int{6}, past: []int{7}},
	{name: "ragged", new: []int{3, 1, 0, 9}, past: []int{0, 5, 2, 8}},
	{name: "shared prefix", new: []int{2, 4, 1, 0}, past: []int{6, 3, 0, 1}, parent: []int{-1, 0, 0, 0}, prefix: []int{0, 5, 8, 2}},
	{name: "child before parent", new: []int{3, 2}, past: []int{0, 1}, parent: []int{1, -1}, prefix: []int{3, 0}},
	{name: "long past", new: []int{2}, past: []int{133}},
	{name: "no tokens", new: []int{0, 0}, past: []int{3, 0}},
	{name: "no sequences"},
}

func (s step) tokens() int {
	t := 0
	for _, n := range s.new {
		t += n
	}
	return t
}

// bases places the sequences in a state in reverse order, a row free before
// each, and returns how many rows the state has room for.
func (s step) bases() (base []int, capacity int) {
	base, capacity = make([]int, len(s.new)), 1
	for b := len(s.new) - 1; b >= 0; b-- {
		base[b] = capacity
		capacity += s.past[b] + s.new[b] + 1
	}
	return base, capacity
}

// tensors returns pos, seq, past, base and parent.
func (s step) tensors() tensors {
	base, _ := s.bases()
	var pos, past, starts, parents []int32
	seq := []int32{0}
	for b := range s.new {
		parent, prefix := -1, 0
		if s.parent != nil {
			parent, prefix = s.parent[b], s.prefix[b]
		}
		for i := range s.new[b] {
			pos = append(pos, int32(prefix+s.past[b]+i))
		}
		seq = append(seq, int32(len(pos)))
		past, starts, parents = append(past, int32(s.past[b])), append(starts, int32(base[b])), append(parents, int32(parent))
	}
	ints := func(xs []int32) *interp.Tensor { return interp.Ints(xs, len(xs)) }
	return tensors{"pos": ints(pos), "seq": ints(seq), "past": ints(past), "base": ints(starts), "parent": ints(parents)}
}

// spoil makes NaN of all rows of a growing state that no sequence holds: whoever
// reads one shows it.
func (s step) spoil(state *interp.Tensor) {
	base, capacity := s.bases()
	held := make([]bool, capacity)
	for b, from := range base {
		for i := range s.past[b] {
			held[from+i] = true
		}
	}
	for _, p := range state.Parts {
		width := len(p.F) / capacity
		for i := range p.F {
			if !held[i/width] {
				p.F[i] = nan
			}
		}
	}
}

// dims binds the symbols of a step.
func (s step) dims() map[string]int {
	_, capacity := s.bases()
	return map[string]int{ir.T.Sym: s.tokens(), ir.B.Sym: len(s.new), ir.S.Sym: capacity}
}
