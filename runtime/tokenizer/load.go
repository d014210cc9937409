package tokenizer

import (
	"bytes"
	"fmt"
)

// load builds a Tokenizer, but for its name and workers. Whether data is JSON at all is looked into beside, which takes a
// good part of the time; that error goes before all others.
func load(data []byte) (*Tokenizer, error) {
	checked := make(chan error, 1)
	go func() { checked <- check(data) }()
	t, err := read(data)
	if invalid := <-checked; invalid != nil {
		return nil, invalid
	}
	return t, err
}

// read builds a Tokenizer from data, or anything if that is no JSON.
func read(data []byte) (t *Tokenizer, err error) {
	root := rawValue(bytes.Trim(data, " \t\r\n"))
	if len(root) == 0 || root[0] != '{' {
		return nil, fmt.Errorf("%v is not an object", root)
	}
	version := "1.0"
	var truncation, padding, added, normal, pre, post, decode, bpe rawValue
	if err := readObject("", root, map[string]any{
		"version?":        &version,
		"truncation?":     &truncation,
		"padding?":        &padding,
		"added_tokens?":   &added,
		"normalizer?":     &normal,
		"pre_tokenizer?":  &pre,
		"post_processor?": &post,
		"decoder?":        &decode,
		"model":           &bpe,
	}); err != nil {
		return nil, err
	}
	switch {
	case version != "1.0":
		return nil, fmt.Errorf("version: %q is not supported, only \"1.0\"", version)
	case !truncation.isNull():
		return nil, fmt.Errorf("truncation: %v is not supported, only null", truncation)
	case !padding.isNull():
		return nil, fmt.Errorf("padding: %v is not supported, only null", padding)
	}
	t = &Tokenizer{vocab: &vocabulary{}}
	if t.model, err = loadModel("model", bpe, t.vocab); err != nil {
		return nil, err
	}
	if t.normalizers, err = loadNormalizers("normalizer", normal); err != nil {
		return nil, err
	}
	if err := t.loadAdded("added_tokens", added); err != nil {
		return nil, err
	}
	if t.preTokenizers, err = loadPreTokenizers("pre_tokenizer", pre); err != nil {
		return nil, err
	}
	if t.template, err = loadTemplate("post_processor", post, t.vocab); err != nil {
		return nil, err
	}
	t.decoder, err = loadDecoder("decoder", decode)
	return t, err
}
