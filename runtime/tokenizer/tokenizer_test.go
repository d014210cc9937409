package tokenizer

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func parseTiny(t *testing.T, file string) *Tokenizer {
	t.Helper()
	tok, err := Parse("tiny.json", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// Ids may have holes, and a large one costs no memory.
func TestHoles(t *testing.T) {
	tok := parseTiny(t, tinyFileWithModel(`{"vocab": {"ab": 2147483647, "b": 3, "a": 7}, "merges": [["a", "b"]]}`))
	if got := tok.Size(); got != math.MaxInt32+1 {
		t.Errorf("Size() = %d, want 2^31", got)
	}
	for id, want := range map[int32]string{3: "b", 7: "a", math.MaxInt32: "ab"} {
		if got, ok := tok.Token(id); got != want || !ok {
			t.Errorf("Token(%d) = %q %v, want %q", id, got, ok, want)
		}
	}
	for _, id := range []int32{-1, 0, 4, math.MaxInt32 - 1} {
		if got, ok := tok.Token(id); ok {
			t.Errorf("Token(%d) = %q, want none", id, got)
		}
	}
	if got, err := tok.Encode("ab", false); err != nil || !slices.Equal(got, []int32{math.MaxInt32}) {
		t.Errorf("Encode(ab) = %v %v, want [2147483647]", got, err)
	}
}

func TestErrors(t *testing.T) {
	tok := parseTiny(t, tinyFile())
	for _, test := range []struct{ text, want string }{
		{"abx", `tokenizer tiny.json: no token for "x", and the model has no unk_token`},
		{"ab\xffa", `tokenizer tiny.json: text is not UTF-8 at byte 2`},
		{"a\uFFFD\xe2\x82", `tokenizer tiny.json: text is not UTF-8 at byte 4`},
	} {
		if got, err := tok.Encode(test.text, false); err == nil || err.Error() != test.want {
			t.Errorf("Encode(%q) = %v %v, want %s", test.text, got, err, test.want)
		}
	}
	for _, id := range []int32{-1, 5, 10} {
		want := fmt.Sprintf("tokenizer tiny.json: id %d at place 1 has no token; ids are below 10", id)
		if got, err := tok.Decode([]int32{0, id}); err == nil || err.Error() != want {
			t.Errorf("Decode([0 %d]) = %q %v, want %s", id, got, err, want)
		}
	}
	if _, err := Open(filepath.Join("testdata", "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("Open of a missing file: %v, want an error that names it", err)
	}
}

// doubled is a normalizer, or decoder, that makes texts longer.
const doubled = `{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}`

// A normalizer cannot make a text of any length of one (T6): neither by many steps, nor by a long one, nor anew between
// added tokens.
func TestGrowth(t *testing.T) {
	long := func(field string) string { return fmt.Sprintf(field, strings.Repeat("a", 8<<10)) }
	sequence := func(n int) string {
		return `"normalizer": {"type": "Sequence", "normalizers": [` + strings.Repeat(doubled+`, `, n-1) + doubled + `]}`
	}
	const cut = `"added_tokens": [{"id": 1, "content": "b", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}]`
	for _, test := range []struct {
		fields []string
		text   string
		want   int // tokens, 0: refused
	}{
		{[]string{sequence(4)}, strings.Repeat("a", 1000), 16000},
		{[]string{sequence(12)}, "a", 4096},
		{[]string{sequence(33)}, "a", 0},
		{[]string{sequence(5)}, strings.Repeat("a", 1000), 0},
		{[]string{long(`"normalizer": {"type": "Prepend", "prepend": "%s"}`)}, "a", 0},
		{[]string{long(`"normalizer": {"type": "Replace", "pattern": {"Regex": "a"}, "content": "%s"}`)}, strings.Repeat("a", 1<<20), 0},
		{[]string{sequence(11), cut}, "aba", 4097},
		{[]string{sequence(11), cut}, "ababa", 0},
	} {
		got, err := parseTiny(t, tinyFile(test.fields...)).Encode(test.text, false)
		const refused = "tokenizer tiny.json: normalizer: makes a text more than 16 times as long; take the model's own tokenizer.json"
		if test.want == 0 && (err == nil || err.Error() != refused) || test.want > 0 && (err != nil || len(got) != test.want) {
			t.Errorf("%.200s: text %.20s of %d bytes gives %d tokens and %v, want %d", test.fields, test.text, len(test.text), len(got), err, test.want)
		}
	}
}

// Merges may be pairs or strings, even mixed, and there must be some.
func TestMerges(t *testing.T) {
	const model = `{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3, "aba": 9}, "merges": %s}`
	for name, merges := range map[string]string{
		"U16 pairs": `[["a", "b"], ["ab", "a"]]`, "U16 strings": `["a b", "ab a"]`, "U16 both": `[["a", "b"], "ab a"]`,
	} {
		got, err := parseTiny(t, tinyFileWithModel(fmt.Sprintf(model, merges))).Encode("abaabb", false)
		if want := []int32{9, 2, 1}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: Encode(abaabb) = %v %v, want %v", name, got, err, want)
		}
	}
	const want = "tokenizer x.json: model.merges: no merges"
	if _, err := Parse("x.json", []byte(tinyFileWithModel(fmt.Sprintf(model, "[]")))); err == nil || err.Error() != want {
		t.Errorf("U16 none: got %v, want %s", err, want)
	}
}

// Many goroutines share a Tokenizer and get what one gets alone.
func TestConcurrentUse(t *testing.T) {
	g := readGoldens(t)
	for name, rows := range g.Goldens {
		tok := openGolden(t, name)
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				for i := range rows {
					i = (i + 9*worker) % len(rows)
					ids, err := tok.Encode(g.Strings[i], true)
					if err != nil || !slices.Equal(ids, rows[i].IDs) {
						t.Errorf("%s: Encode(%q) = %v %v, want %v", name, g.Strings[i], ids, err, rows[i].IDs)
					}
					if got, err := tok.Decode(ids); err != nil || got != rows[i].DecodedAll {
						t.Errorf("%s: Decode(%v) = %q %v, want %q", name, ids, got, err, rows[i].DecodedAll)
					}
				}
			})
		}
		group.Wait()
	}
}
