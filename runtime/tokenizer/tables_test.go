package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A textIndex that grows from any size says what a map says.
func TestTextIndex(t *testing.T) {
	for _, room := range []int{0, 1, 100, 5000} {
		rng := rand.New(rand.NewPCG(11, uint64(room)))
		x, places, tokens := newTextIndex(room), map[string]int{}, []token(nil)
		for range 5000 {
			text := fmt.Sprint(rng.IntN(4000))
			want, known := places[text]
			if !known {
				want = -1
			}
			if got := x.find(tokens, text); got != want {
				t.Fatalf("room for %d: find(%q) of %d = %d, want %d", room, text, len(tokens), got, want)
			}
			if added := x.add(tokens, text); added == known {
				t.Fatalf("room for %d: add(%q) to %d = %v", room, text, len(tokens), added)
			}
			if !known {
				places[text] = len(tokens)
				tokens = append(tokens, token{text: text})
			}
		}
	}
}

// Rules that grow from any size are a map.
func TestRules(t *testing.T) {
	for _, room := range []int{0, 1, 100, 5000} {
		rng := rand.New(rand.NewPCG(12, uint64(room)))
		r, want := newRules(room), map[pair]merge{}
		for i := range int32(5000) {
			p := pair{rng.Int32N(70), rng.Int32N(70)}
			got, ok := r.find(p)
			if m, known := want[p]; ok != known || ok && got != m {
				t.Fatalf("room for %d: find(%v) = %v %v, want %v %v", room, p, got, ok, m, known)
			}
			want[p] = merge{rank: i, id: rng.Int32()}
			r.set(p, want[p])
		}
		if r.count != len(want) {
			t.Errorf("room for %d: %d rules, want %d", room, r.count, len(want))
		}
	}
}

// Tokens that stand in any order have the places of their ids.
func TestVocabularySorts(t *testing.T) {
	tok := parseTiny(t, tinyFileWithModel(`{"vocab": {"ab": 9, "b": 3, "c": 1, "a": 7}, "merges": [["a", "b"]]}`))
	for text, want := range map[string]int32{"c": 1, "b": 3, "a": 7, "ab": 9} {
		if id, ok := tok.vocab.id(text); !ok || id != want {
			t.Errorf("id of %q is %d %v, want %d", text, id, ok, want)
		}
	}
}
