package tokenizer

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// An emoji comes whole though its bytes are tokens of their own.
func TestStreamKeepsCharacters(t *testing.T) {
	const text = "a👍🏽é中 한!"
	for name := range readGoldens(t).Goldens {
		tok := openGolden(t, name)
		ids, err := tok.Encode(text, true)
		if err != nil {
			t.Fatal(err)
		}
		s := tok.Stream()
		all := ""
		for _, id := range ids {
			part := s.Push(id)
			if !utf8.ValidString(part) {
				t.Errorf("%s: Push(%d) = %q, want whole characters", name, id, part)
			}
			all += part
		}
		if rest := s.Flush(); rest != "" {
			t.Errorf("%s: Flush() = %q, want nothing", name, rest)
		}
		if want, _ := tok.Decode(ids); all != want || !strings.HasSuffix(all, text) {
			t.Errorf("%s: streamed %q, want %q", name, all, want)
		}
	}
}

// Whatever the ids, the parts join to the exact bytes, and no part splits a character that another completes.
func TestStreamRandomIDs(t *testing.T) {
	for name := range readGoldens(t).Goldens {
		tok := openGolden(t, name)
		rng := rand.New(rand.NewPCG(11, 12))
		for range 300 {
			ids := make([]int32, rng.IntN(20))
			for i := range ids {
				ids[i] = tok.vocab.tokens[rng.IntN(len(tok.vocab.tokens))].id
			}
			checkStream(t, tok, ids)
		}
	}
}

func checkStream(t *testing.T, tok *Tokenizer, ids []int32) {
	t.Helper()
	want := ""
	for i, id := range ids {
		token, _ := tok.vocab.token(id)
		want += tok.decoder.text(token, i == 0)
	}
	for left := tok.decoder.most; left > 0 && strings.HasPrefix(want, tok.decoder.strip); left-- {
		want = want[len(tok.decoder.strip):]
	}
	s := tok.Stream()
	got := ""
	starts := map[int]bool{} // of parts
	for _, id := range ids {
		starts[len(got)] = true
		got += s.Push(id)
	}
	starts[len(got)] = true
	got += s.Flush()
	for at, r := range got {
		for inside := at + 1; r != utf8.RuneError && inside < at+utf8.RuneLen(r); inside++ {
			if starts[inside] {
				t.Errorf("ids %v: %q comes in two parts", ids, r)
			}
		}
	}
	if got != want {
		t.Errorf("ids %v\nstreamed %q\n    want %q", ids, got, want)
	}
	if got, err := tok.Decode(ids); err != nil || got != want {
		t.Errorf("Decode(%v) = %q %v, want %q", ids, got, err, want)
	}
	if data, err := json.Marshal(got); err != nil || !json.Valid(data) {
		t.Errorf("ids %v: %q is no JSON: %v", ids, got, err)
	}
}

func TestStreamParts(t *testing.T) {
	tok := openGolden(t, "mixtral")
	id := func(token string) int32 {
		id, ok := tok.vocab.id(token)
		if !ok {
			t.Fatalf("no token %q", token)
		}
		return id
	}
	for _, test := range []struct {
		name string
		ids  []int32
		want []string // what each Push returns, then Flush
	}{
		{"one space is stripped at the start", []int32{id("▁the"), id("▁the")}, []string{"the", " the", ""}},
		{"not after a special token", []int32{id("<s>"), id("▁the")}, []string{"<s>", " the", ""}},
		{"bytes of one character", []int32{id("<0xF0>"), id("<0x9F>"), id("<0x91>"), id("<0x8D>")}, []string{"", "", "", "👍", ""}},
		{"a character cut short by another", []int32{id("<0xF0>"), id("<0x9F>"), id("a")}, []string{"", "", "\xf0\x9fa", ""}},
		{"a character cut short by the end", []int32{id("a"), id("<0xE4>"), id("<0xB8>")}, []string{"a", "", "", "\xe4\xb8"}},
		{"bytes that begin nothing", []int32{id("<0x80>"), id("<0xFF>")}, []string{"\x80", "\xff", ""}},
		{"no such id", []int32{id("a"), 1 << 30, -1}, []string{"a", "\uFFFD", "\uFFFD", ""}},
		{"a space in byte form", []int32{id("<0x20>"), id("a")}, []string{"", "a", ""}},
	} {
		s := tok.Stream()
		for range 2 { // Flush starts anew
			var got []string
			for _, id := range test.ids {
				got = append(got, s.Push(id))
			}
			if got = append(got, s.Flush()); !slices.Equal(got, test.want) {
				t.Errorf("%s: ids %v\n got %q\nwant %q", test.name, test.ids, got, test.want)
			}
		}
	}
}
