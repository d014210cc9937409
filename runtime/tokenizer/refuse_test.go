package tokenizer

import (
	"fmt"
	"strings"
	"testing"
)

const (
	tinyModel = `{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3, "aba": 9}, "merges": [["a", "b"], "ab a"]}`
	byteLevel = `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}`
	templateA = `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}}`
)

// tinyFile returns a small tokenizer.json with more fields, each `"name": value`.
func tinyFile(fields ...string) string {
	return "{" + strings.Join(append(fields, `"model": `+tinyModel), ", ") + "}"
}

func tinyFileWithModel(model string) string {
	return `{"model": ` + model + `}`
}

// added returns a file with an added token for each of the fields.
func added(tokens ...string) string {
	for i, fields := range tokens {
		tokens[i] = `{"single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true, ` + fields + `}`
	}
	return tinyFile(`"added_tokens": [` + strings.Join(tokens, ", ") + `]`)
}

func split(pattern string) string {
	return tinyFile(`"pre_tokenizer": {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": ` + pattern + `}`)
}

func regex(pattern string) string {
	return split(fmt.Sprintf(`{"Regex": %q}`, pattern))
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"", `not JSON at byte 0: unexpected end of JSON input`},
		{"\xff", `not UTF-8 at byte 0`},
		{"{} x", `not JSON at byte 4: invalid character 'x' after top-level value`},
		{"[]", `[] is not an object`},
		{"{}", `model: field is missing`},
		{tinyFile(`"version": "2.0"`), `version: "2.0" is not supported, only "1.0"`},
		{tinyFile(`"truncation": {"max_length": 5}`), `truncation: {"max_length": 5} is not supported, only null`},
		{tinyFile(`"padding": {}`), `padding: {} is not supported, only null`},
		{tinyFile(`"colour": "red"`), `colour: field is not supported (its value is "red")`},
		{tinyFile(`"version?": "1.0"`), `version?: field is not supported (its value is "1.0")`},
		{tinyFile(`"decoder": null`, `"decoder": null`), `decoder: field is given twice`},

		{tinyFileWithModel(`null`), `model: null is not an object`},
		{tinyFileWithModel(`{"type": "WordPiece", "vocab": {}, "max_input_chars_per_word": 100}`), `model.type: "WordPiece" is not supported`},
		{tinyFileWithModel(`{"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.5]]}`), `model.type: "Unigram" is not supported`},
		{tinyFileWithModel(`{"type": "BPE", "merges": []}`), `model.vocab: field is missing`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": [], "words": 3}`), `model.words: field is not supported (its value is 3)`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": []}`), `model.merges: no merges`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": {}}`), `model.merges: {} is not an array`},
		{tinyFileWithModel(`{"vocab": ["a"], "merges": []}`), `model.vocab: ["a"] is not an object`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": ["a b"]}`), `model.merges[0]: "a b": token "b" is not in the vocabulary`},
		{tinyFileWithModel(`{"vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]}`), `model.merges[0]: ["a", "b"]: token "ab" is not in the vocabulary`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": ["a"]}`), `model.merges[0]: "a" is not a pair of tokens`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": ["a b c"]}`), `model.merges[0]: "a b c" is not a pair of tokens`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": [["a"]]}`), `model.merges[0]: ["a"] is not a pair of tokens`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": [["a", "b", "c"]]}`), `model.merges[0]: ["a", "b", "c"] is not a pair of tokens`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": [["a", 1]]}`), `model.merges[0]: ["a", 1] is not a pair of tokens`},
		{tinyFileWithModel(`{"vocab": {"a": 0}, "merges": [7]}`), `model.merges[0]: 7 is not a pair of tokens`},
		{tinyFileWithModel(`{"vocab": {"a": 0, "b": 0}, "merges": []}`), `model.vocab: tokens "a" and "b" have one id, 0`},
		{tinyFileWithModel(`{"vocab": {"a": 0, "a": 1}, "merges": []}`), `model.vocab["a"]: token is given twice`},
		{tinyFileWithModel(`{"vocab": {"a": -1}, "merges": []}`), `model.vocab["a"]: id -1 is not a number from 0 to 2147483647`},
		{tinyFileWithModel(`{"vocab": {"a": 2147483648}, "merges": []}`), `model.vocab["a"]: id 2147483648 is not a number from 0 to 2147483647`},
		{tinyFileWithModel(`{"vocab": {"a": 99999999999999999999}, "merges": []}`), `model.vocab["a"]: id 99999999999999999999 is not a number from 0 to 2147483647`},
		{tinyFileWithModel(`{"vocab": {"a": 1.5}, "merges": []}`), `model.vocab["a"]: id 1.5 is not a number from 0 to 2147483647`},
		{tinyFileWithModel(`{"vocab": {"a": "0"}, "merges": []}`), `model.vocab["a"]: id "0" is not a number from 0 to 2147483647`},
		{tinyFileWithModel(`{"dropout": 0.1, "vocab": {}, "merges": []}`), `model.dropout: 0.1 is not supported, only null or 0`},
		{tinyFileWithModel(`{"continuing_subword_prefix": "##", "vocab": {}, "merges": []}`), `model.continuing_subword_prefix: "##" is not supported, only null or empty`},
		{tinyFileWithModel(`{"end_of_word_suffix": "</w>", "vocab": {}, "merges": []}`), `model.end_of_word_suffix: "</w>" is not supported, only null or empty`},
		{tinyFileWithModel(`{"unk_token": "<unk>", "vocab": {"a": 0}, "merges": []}`), `model.unk_token: "<unk>" is not in the vocabulary`},
		{tinyFileWithModel(`{"byte_fallback": "yes", "vocab": {}, "merges": []}`), `model.byte_fallback: "yes" is not true or false`},

		{added(`"id": 0, "content": "a", "colour": 1`), `added_tokens[0].colour: field is not supported (its value is 1)`},
		{added(`"content": "a"`), `added_tokens[0].id: field is missing`},
		{added(`"id": -1, "content": "x"`), `added_tokens[0].id: -1 is not a number from 0 to 2147483647`},
		{added(`"id": 2147483648, "content": "x"`), `added_tokens[0].id: 2147483648 is not a number from 0 to 2147483647`},
		{added(`"id": 5, "content": ""`), `added_tokens[0].content: empty`},
		{added(`"id": 5, "content": "ab"`), `added_tokens[0].id: 5, but model.vocab has "ab" as 2`},
		{added(`"id": 2, "content": "x"`), `added_tokens: tokens "ab" and "x" have one id, 2`},
		{tinyFile(`"added_tokens": {}`), `added_tokens: {} is not an array`},
		{tinyFile(`"added_tokens": [3]`), `added_tokens[0]: 3 is not an object`},
		{added(`"id": 5, "content": "x"`, `"id": 6, "content": "x"`), `added_tokens[1].content: token "x" is given twice`},
		{tinyFile(`"normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": ""}`,
			`"added_tokens": [{"id": 5, "content": "x", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": true}]`), `added_tokens[0].content: "x" is empty once normalized`},

		{tinyFile(`"normalizer": {"type": "BertNormalizer"}`), `normalizer.type: "BertNormalizer" is not supported`},
		{tinyFile(`"normalizer": {"type": "NFKC"}`), `normalizer.type: "NFKC" is not supported`},
		{tinyFile(`"normalizer": {"type": "NFC", "form": 1}`), `normalizer.form: field is not supported (its value is 1)`},
		{tinyFile(`"normalizer": "NFC"`), `normalizer: "NFC" is not an object`},
		{tinyFile(`"normalizer": {"prepend": "x"}`), `normalizer.type: "" is not supported`},
		{tinyFile(`"normalizer": {"type": "Prepend"}`), `normalizer.prepend: field is missing`},
		{tinyFile(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}`), `normalizer.normalizers[1].type: "Lowercase" is not supported`},
		{tinyFile(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": []}]}`), `normalizer.normalizers[0].type: "Sequence" is not supported`},
		{tinyFile(`"normalizer": {"type": "Sequence", "normalizers": 5}`), `normalizer.normalizers: 5 is not an array`},
		{tinyFile(`"normalizer": {"type": "Sequence", "normalizers": [5]}`), `normalizer.normalizers[0]: 5 is not an object`},
		{tinyFile(`"normalizer": {"type": "Sequence"}`), `normalizer.normalizers: field is missing`},
		{tinyFile(`"normalizer": {"type": "Replace", "pattern": {"Glob": "*"}, "content": ""}`), `normalizer.pattern.Glob: field is not supported (its value is "*")`},

		{tinyFile(`"normalizer": {"type": "Sequence", "normalizers": [` + strings.Repeat(`{"type": "NFC"}, `, 64) + `{"type": "NFC"}]}`), `normalizer.normalizers: more than 64 parts are not supported`},

		{tinyFile(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [` + byteLevel + `, ` + byteLevel + `]}`), `pre_tokenizer.pretokenizers[1]: a second ByteLevel is not supported`},
		{tinyFile(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "a"}, {"type": "Metaspace", "replacement": "b"}]}`), `pre_tokenizer.pretokenizers[1]: a second Metaspace is not supported`},
		{tinyFile(`"pre_tokenizer": {"type": "Whitespace"}`), `pre_tokenizer.type: "Whitespace" is not supported`},
		{tinyFile(`"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": 1, "trim_offsets": true}`), `pre_tokenizer.add_prefix_space: 1 is not true or false`},
		{tinyFile(`"pre_tokenizer": {"type": "Split", "behavior": "Sideways", "invert": false, "pattern": {"String": "x"}}`), `pre_tokenizer.behavior: "Sideways" is not supported`},
		{tinyFile(`"pre_tokenizer": {"type": "Metaspace", "replacement": "__"}`), `pre_tokenizer.replacement: "__" is not one character`},
		{tinyFile(`"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "last"}`), `pre_tokenizer.prepend_scheme: "last" is not supported`},
		{tinyFile(`"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": false}`), `pre_tokenizer.add_prefix_space: false contradicts prepend_scheme "always"`},
		{split(`{"String": ""}`), `pre_tokenizer.pattern: {"String": ""} is not one String or Regex`},
		{split(`{}`), `pre_tokenizer.pattern: {} is not one String or Regex`},
		{split(`{"String": "a", "Regex": "b"}`), `pre_tokenizer.pattern: {"String": "a", "Regex": "b"} is not one String or Regex`},
		{regex(`[a`), "pre_tokenizer.pattern.Regex: \"[a\": error parsing regexp: unterminated [] set in `[a`"},
		{regex(`a++`), "pre_tokenizer.pattern.Regex: \"a++\": error parsing regexp: invalid nested repetition operator in `a++`"},
		{regex(`\p{Klingon}`), "pre_tokenizer.pattern.Regex: \"\\\\p{Klingon}\": error parsing regexp: unknown unicode category, script, or property 'Klingon' in `\\p{Klingon}`"},
		{regex(`\w+`), `pre_tokenizer.pattern.Regex: "\\w+": \w is not supported`},
		{regex(`x\bx`), `pre_tokenizer.pattern.Regex: "x\\bx": \b is not supported`},
		{regex(`[[:alpha:]x]`), `pre_tokenizer.pattern.Regex: "[[:alpha:]x]": a class within a class is not supported`},
		{regex(`[a-z&&[^x]]`), `pre_tokenizer.pattern.Regex: "[a-z&&[^x]]": a class within a class is not supported`},
		{regex(`(?i:hello)`), `pre_tokenizer.pattern.Regex: "(?i:hello)": (?i is not supported`},
		{regex(`(?m)a.b`), `pre_tokenizer.pattern.Regex: "(?m)a.b": (?m is not supported`},
		{regex(`a{,3}`), `pre_tokenizer.pattern.Regex: "a{,3}": {, is not supported`},

		{tinyFile(`"post_processor": {"type": "RobertaProcessing"}`), `post_processor.type: "RobertaProcessing" is not supported`},
		{tinyFile(`"post_processor": {"type": "Sequence", "processors": [` + templateA + `, ` + templateA + `]}`), `post_processor.processors[1]: a second TemplateProcessing is not supported`},
		{tinyFile(`"post_processor": ` + strings.Replace(templateA, `"ids": [0]`, `"ids": [0`+strings.Repeat(", 0", mostAround)+`]`, 1)), `post_processor.single[0]: more than 1024 tokens around a text are not supported`},
		{tinyFile(`"post_processor": ` + strings.Replace(templateA, `{"Sequence": {"id": "A", "type_id": 0}}`, `{"Sequence": {"id": "B", "type_id": 0}}`, 1)), `post_processor.single[1]: only special tokens and one sequence A are supported`},
		{tinyFile(`"post_processor": ` + strings.Replace(templateA, `, {"Sequence": {"id": "A", "type_id": 0}}`, ``, 1)), `post_processor.single: has no sequence A`},
		{tinyFile(`"post_processor": ` + strings.Replace(templateA, `"ids": [0]`, `"ids": [7]`, 1)), `post_processor.single[0]: special token "a" has id 7, which is not in the vocabulary`},
		{tinyFile(`"post_processor": ` + strings.Replace(templateA, `"special_tokens": {"a"`, `"special_tokens": {"b"`, 1)), `post_processor.single[0]: special token "a" has no ids in special_tokens`},

		{tinyFile(`"decoder": {"type": "WordPiece", "prefix": "##"}`), `decoder.type: "WordPiece" is not supported`},
		{tinyFile(`"decoder": {"type": "Strip", "content": " ", "start": 1, "stop": 0}`), `decoder: Strip is not supported at this place`},
		{tinyFile(`"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]}`), `decoder.decoders[1]: ByteFallback is not supported at this place`},
		{tinyFile(`"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, ` + byteLevel + `]}`), `decoder.decoders[1]: ByteLevel is not supported at this place`},
		{tinyFile(`"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 2}]}`), `decoder.decoders[1].stop: 2 is not supported, only 0`},
		{tinyFile(`"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "", "start": 1, "stop": 0}]}`), `decoder.decoders[1].content: "" is not one character`},
		{tinyFile(`"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": -1, "stop": 0}]}`), `decoder.decoders[1].start: -1 is negative`},
		{tinyFile(`"decoder": {"type": "Sequence", "decoders": [` + strings.Repeat(doubled+`, `, 4) + doubled + `]}`), `decoder.decoders[4].content: makes a token more than 16 times as long`},
		{tinyFile(`"decoder": {"type": "Replace", "pattern": {"Regex": "x"}, "content": ""}`), `decoder.pattern.Regex: field is not supported (its value is "x")`},
		{tinyFile(`"decoder": {"type": "Replace", "pattern": {"String": ""}, "content": ""}`), `decoder.pattern.String: empty`},
	} {
		tok, err := Parse("tiny.json", []byte(test.file))
		if err == nil {
			t.Errorf("Parse(%s)\n got a tokenizer of size %d\nwant %s", test.file, tok.Size(), test.want)
			continue
		}
		if got := strings.TrimPrefix(err.Error(), "tokenizer tiny.json: "); got != test.want {
			t.Errorf("Parse(%s)\n got %s\nwant %s", test.file, got, test.want)
		}
	}
}

// Whatever else is wrong with a file that is no JSON, that is said of it.
func TestNoJSONGoesFirst(t *testing.T) {
	for _, file := range []string{
		tinyFile(`"pre_tokenizer": `+byteLevel, `"decoder": `+byteLevel, `"post_processor": `+templateA),
		tinyFile(`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": "▁\n"}]}`),
		added(`"id": 20, "content": "<x>"`, `"id": 21, "content": "<\u0078> "`),
	} {
		for at := range len(file) {
			broken := []string{file[:at]}
			for _, c := range []string{"", `"`, `\`, "{", "}", "[", "]", ",", "x", "\n", "\xff", "\x80\x80"} {
				broken = append(broken, file[:at]+c+file[at+1:])
			}
			for _, data := range broken {
				want := check([]byte(data))
				if _, err := Parse("x", []byte(data)); want != nil && (err == nil || err.Error() != "tokenizer x: "+want.Error()) {
					t.Errorf("Parse(%q)\n got %v\nwant %v", data, err, want)
				}
			}
		}
	}
}
