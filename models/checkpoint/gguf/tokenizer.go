package gguf

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// pre holds what GGUF only names: what is done to text before bytes are merged, by the name, as tokenizer.json has it.
// The files are those of published tokenizers.
//
//go:embed pre/*.json
var pre embed.FS

// The models of vocabularies: byte pairs with merges, and SentencePiece with scores, which has a file of its own.
const (
	merged     = "gpt2"
	scored     = "llama"
	scoredFile = "sentencepiece"
)

// preOf returns the name of the file for a name in GGUF.
func preOf(name string) string {
	switch name {
	case "llama3", "llama-v3", "lfm2":
		return "llama-bpe"
	}
	return name
}

// The types of tokens.
const (
	normal      = 1
	unknown     = 2
	control     = 3
	userDefined = 4
	unused      = 5
)

// Companion implements checkpoint.Companion: tokenizer.json, and of tokenizer_config.json what GGUF has of it.
func (m *model) Companion(name string) ([]byte, bool, error) {
	meta := m.files[0].meta
	switch meta.text("tokenizer.ggml.model") {
	case "", "none", "no_vocab": // which llama.cpp takes for a model without a tokenizer
		return nil, false, nil
	}
	var value any
	var err error
	switch name {
	case "tokenizer.json":
		value, err = newVocabulary(meta).tokenizer()
	case "tokenizer_config.json":
		value = tokenizerConfig(meta)
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: tokenizer: %w; put the model's tokenizer.json beside the file", m.files[0].path, err)
	}
	text, err := json.Marshal(value)
	return text, err == nil, err
}

// vocabulary is the tokenizer of the metadata.
type vocabulary struct {
	meta   metadata
	model  string
	tokens []string
	types  []int64   // of tokens
	scores []float32 // of tokens, where there are no merges
}

func newVocabulary(meta metadata) vocabulary {
	v := vocabulary{meta: meta, model: meta.text("tokenizer.ggml.model"), tokens: meta.texts("tokenizer.ggml.tokens")}
	types, _ := meta["tokenizer.ggml.token_type"].(numbers)
	scores, _ := meta["tokenizer.ggml.scores"].(numbers)
	for i := range types.len() {
		n, _ := whole(types.at(i))
		v.types = append(v.types, n)
	}
	for i := range scores.len() {
		s, _ := scores.at(i).(float32)
		v.scores = append(v.scores, s)
	}
	return v
}

// tokenizer makes tokenizer.json.
func (v vocabulary) tokenizer() (map[string]any, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	p, err := v.pre()
	if err != nil {
		return nil, err
	}
	bpe := map[string]any{"type": "BPE", "ignore_merges": p.IgnoreMerges, "vocab": v.vocab(), "merges": v.meta.texts("tokenizer.ggml.merges")}
	if v.model == scored {
		if err := v.pieces(bpe); err != nil {
			return nil, err
		}
	}
	template, err := v.template(p.AddBOS)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"version": "1.0", "added_tokens": v.added(), "normalizer": p.Normalizer, "pre_tokenizer": p.PreTokenizer,
		"post_processor": template, "decoder": p.Decoder, "model": bpe,
	}, nil
}

// check checks that the parts are there and fit each other.
func (v vocabulary) check() error {
	switch {
	case v.model != merged && v.model != scored:
		return fmt.Errorf("model %.80q is not read, only %s and %s", v.model, merged, scored)
	case len(v.types) != len(v.tokens) || len(v.tokens) == 0:
		return fmt.Errorf("%d types for %d tokens", len(v.types), len(v.tokens))
	case v.model == merged && len(v.meta.texts("tokenizer.ggml.merges")) == 0:
		return errors.New("no merges")
	case v.model == scored && len(v.scores) != len(v.tokens):
		return fmt.Errorf("%d scores for %d tokens", len(v.scores), len(v.tokens))
	}
	for id, t := range v.tokens {
		if !utf8.ValidString(t) {
			return fmt.Errorf("token %d is %.80q, no UTF-8", id, t)
		}
	}
	return nil
}

// preparation is a file of pre.
type preparation struct {
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	Decoder      json.RawMessage `json:"decoder"`
	IgnoreMerges bool            `json:"ignore_merges"`
	AddBOS       bool            `json:"add_bos"`
}

func (v vocabulary) pre() (p preparation, err error) {
	name := v.meta.text("tokenizer.ggml.pre")
	file := preOf(name)
	if v.model == scored {
		file = scoredFile
	} else if file == scoredFile {
		file = ""
	}
	data, err := pre.ReadFile("pre/" + file + ".json")
	if err != nil {
		return p, fmt.Errorf("pre-tokenizer %.80q is unknown", name)
	}
	return p, json.Unmarshal(data, &p)
}

// vocab maps tokens to their ids, those that fill up gaps apart.
func (v vocabulary) vocab() map[string]int {
	ids := map[string]int{}
	for id, t := range v.tokens {
		if v.types[id] != unused && v.types[id] != userDefined {
			ids[t] = id
		}
	}
	return ids
}

// added lists the tokens that are looked for in text before all else.
func (v vocabulary) added() []any {
	list := []any{}
	for id, t := range v.tokens {
		if kind := v.types[id]; kind == control || kind == userDefined || kind == unknown {
			list = append(list, map[string]any{
				"id": id, "content": t, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": kind != userDefined,
			})
		}
	}
	return list
}

// template puts the tokens of the beginning and the end around a text, nil for none.
func (v vocabulary) template(bos bool) (any, error) {
	single, special := []any{}, map[string]any{}
	add := func(key, id string, def bool) error {
		if !v.meta.flag(key, def) {
			return nil
		}
		n, ok := v.meta.whole(id)
		if !ok || n >= int64(len(v.tokens)) {
			return fmt.Errorf("%s is set, and %s is %v", key, id, v.meta[id])
		}
		token := v.tokens[n]
		single = append(single, map[string]any{"SpecialToken": map[string]any{"id": token, "type_id": 0}})
		special[token] = map[string]any{"id": token, "ids": []int64{n}, "tokens": []string{token}}
		return nil
	}
	if err := add("tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", bos); err != nil {
		return nil, err
	}
	single = append(single, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}})
	if err := add("tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", false); err != nil {
		return nil, err
	}
	if len(special) == 0 {
		return nil, nil
	}
	return map[string]any{"type": "TemplateProcessing", "single": single, "special_tokens": special}, nil
}

// tokenizerConfig is what other programs read beside tokenizer.json: the chat template and the tokens that it names.
func tokenizerConfig(meta metadata) map[string]any {
	out := map[string]any{}
	tokens := meta.texts("tokenizer.ggml.tokens")
	for id, name := range map[string]string{"bos_token_id": "bos_token", "eos_token_id": "eos_token", "unknown_token_id": "unk_token", "padding_token_id": "pad_token"} {
		if n, ok := meta.whole("tokenizer.ggml." + id); ok && n < int64(len(tokens)) {
			out[name] = tokens[n]
		}
	}
	if text := meta.text("tokenizer.chat_template"); text != "" {
		out["chat_template"] = text
	}
	return out
}
