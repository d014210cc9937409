package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plainMerge joins the most urgent pair, the leftmost of equal ones, until none is left: the definition.
func plainMerge(m *model, ids []int32) []int32 {
	ids = slices.Clone(ids)
	for {
		best, at := merge{rank: 1 << 30}, -1
		for i := range len(ids) - 1 {
			if found, ok := m.merges.find(pair{ids[i], ids[i+1]}); ok && found.rank < best.rank {
				best, at = found, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, best.id)
	}
}

func TestMergeAgainstDefinition(t *testing.T) {
	for _, name := range []string{"olmoe", "mixtral"} {
		tok := openGolden(t, name)
		w := newWorker(tok.model)
		rng := rand.New(rand.NewPCG(5, 6))
		for range 2000 {
			var word strings.Builder
			for range 1 + rng.IntN(8) {
				word.WriteString(tok.vocab.tokens[rng.IntN(len(tok.vocab.tokens))].text)
			}
			if err := w.spell(word.String()); err != nil {
				continue // some tokens are not words of the byte alphabet
			}
			var letters []int32
			for _, s := range w.symbols {
				letters = append(letters, s.id)
			}
			want := plainMerge(tok.model, letters)
			got, err := w.apply(nil, word.String())
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s: %q\n got %v %v\nwant %v", name, word.String(), got, err, want)
			}
		}
	}
}

// Cutting a word before each ▁ must not change its ids.
func TestCutAtMark(t *testing.T) {
	tok := openGolden(t, "mixtral")
	if !tok.model.cutAtMark {
		t.Fatal("mixtral's words are not cut at ▁, want cut")
	}
	w := newWorker(tok.model)
	text := strings.ReplaceAll(ordinaryText(4000), " ", mark) + "▁▁▁▁x▁"
	got, err := w.encode(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := w.apply(nil, text)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q\n got %v\nwant %v %v", text, got, want, err)
	}
}

// A model with a token that holds a ▁ after another character must not cut there.
func TestNoCutAcrossMark(t *testing.T) {
	tok, err := Parse("tiny.json", []byte(tinyFileWithModel(`{"vocab": {"a": 0, "▁": 1, "a▁": 2}, "merges": [["a", "▁"]]}`)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tok.Encode("a▁a", false)
	if want := []int32{2, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Encode(a▁a) = %v %v, want %v", got, err, want)
	}
}

// One word of a megabyte: with a quadratic merge this would take hours.
func TestLongWord(t *testing.T) {
	tok := openGolden(t, "olmoe")
	text := strings.Repeat("a", 1<<20)
	ids, err := tok.Encode(text, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tok.Decode(ids); err != nil || got != text {
		t.Errorf("decoded %d bytes, %v, want the %d of the text", len(got), err, len(text))
	}
}

// What a worker remembers stays within its bound, and forgetting changes no ids.
func TestWorkerForgets(t *testing.T) {
	tok := openGolden(t, "olmoe")
	w := newWorker(tok.model)
	rng := rand.New(rand.NewPCG(9, 10))
	for range 2*mostKnown + 100 {
		word := ""
		for range 6 {
			word += string(rune('a' + rng.IntN(26)))
		}
		got, err := w.encode(nil, word)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := w.encode(nil, word)
		if want, _ := newWorker(tok.model).encode(nil, word); !slices.Equal(got, want) || !slices.Equal(again, want) {
			t.Fatalf("%q: got %v and %v, want %v", word, got, again, want)
		}
		if len(w.known) > mostKnown || len(w.ids) > mostKnown*longestKnown {
			t.Fatalf("%d words and %d ids remembered, want at most %d words", len(w.known), len(w.ids), mostKnown)
		}
	}
	if _, ok := w.known[strings.Repeat("x", longestKnown+1)]; ok {
		t.Error("a long word is remembered")
	}
}
