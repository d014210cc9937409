package tokenizer

import (
	"slices"
	"testing"
)

// Any file is refused or gives a tokenizer that holds T2 and T5 for any text.
func FuzzParse(f *testing.F) {
	for _, file := range []string{
		tinyFile(),
		tinyFile(`"pre_tokenizer": `+byteLevel, `"decoder": `+byteLevel, `"post_processor": `+templateA),
		tinyFile(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}`,
			`"decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}`),
		tinyFile(`"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}`),
		tinyFile(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {"type": "Split", "behavior": "MergedWithNext", "invert": true, "pattern": {"Regex": "a|b?"}}]}`),
		tinyFile(`"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "a", "start": 9223372036854775807, "stop": 0}]}`),
		regex(`\s?[a-z]+`), regex(`\s+$`), regex(`(a+)b|[^b]`),
		added(`"id": 20, "content": "<x>"`, `"id": 21, "content": "<x> "`),
		tinyFileWithModel(`{"unk_token": "a", "fuse_unk": true, "byte_fallback": true, "ignore_merges": true, "vocab": {"a": 0, "b": 1, "ab": 2, "<0x20>": 5}, "merges": ["a b"]}`),
	} {
		if _, err := Parse("seed", []byte(file)); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(file), "ab aba <x> 12 é")
	}
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": [["a", "b"]]}}`), "")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		ids, err := tok.Encode(text, true)
		if err != nil {
			return
		}
		for _, id := range ids {
			if _, ok := tok.Token(id); !ok || int(id) >= tok.Size() {
				t.Errorf("Encode(%q) gives id %d, which has no token", text, id)
			}
		}
		again, err := tok.Encode(text, true)
		if err != nil || !slices.Equal(again, ids) {
			t.Errorf("Encode(%q) = %v %v the second time, %v the first", text, again, err, ids)
		}
		checkStream(t, tok, ids)
	})
}
