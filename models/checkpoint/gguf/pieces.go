package gguf

import (
	"cmp"
	"fmt"
	"slices"
)

// pieces adds to the model what a vocabulary with scores has: a token for each byte, and merges of any two tokens that
// make a third, the one of the highest score first.
func (v vocabulary) pieces(bpe map[string]any) error {
	if !v.meta.flag("tokenizer.ggml.add_space_prefix", true) {
		return fmt.Errorf("add_space_prefix is false, which is not read")
	}
	ids := bpe["vocab"].(map[string]int)
	type merge struct {
		pair  [2]string
		score float32
	}
	var all []merge
	for id, t := range v.tokens {
		if v.types[id] != normal {
			continue
		}
		if len(t) > maxPiece {
			return fmt.Errorf("token %d has %d bytes, more than %d", id, len(t), maxPiece)
		}
		for i := range t {
			_, left := ids[t[:i]]
			if _, right := ids[t[i:]]; left && right {
				all = append(all, merge{[2]string{t[:i], t[i:]}, v.scores[id]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b merge) int { return cmp.Compare(b.score, a.score) })
	pairs := make([][2]string, len(all))
	for i, m := range all {
		pairs[i] = m.pair
	}
	bpe["merges"], bpe["byte_fallback"], bpe["fuse_unk"] = pairs, true, true
	if id := slices.Index(v.types, unknown); id >= 0 {
		bpe["unk_token"] = v.tokens[id]
	}
	return nil
}

// maxPiece bounds the work of finding a token's parts.
const maxPiece = 128
