package gguf

import "strings"

// What describe and wanted call the kinds of values.
const (
	aFlag   = "a flag"
	aText   = "a text"
	aWhole  = "a whole number"
	aNumber = "a number"
	texts   = "an array of texts"
	wholes  = "an array of whole numbers"
	singles = "an array of float32"
	doubles = "an array of float64"
	flags   = "an array of flags"
)

// wanted is what a key's value must be that is not for config.json to judge, "" for any other key. A value of another
// kind would pass for none.
func wanted(key string) string {
	switch key {
	case "general.architecture", "general.type", "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template":
		return aText
	case "general.alignment", "split.no", "split.count", "split.tensors.count":
		return aWhole
	case "tokenizer.ggml.tokens", "tokenizer.ggml.merges":
		return texts
	case "tokenizer.ggml.token_type":
		return wholes
	case "tokenizer.ggml.scores":
		return singles
	}
	switch name, of := strings.CutPrefix(key, "tokenizer.ggml."); {
	case of && strings.HasPrefix(name, "add_"):
		return aFlag
	case of && strings.HasSuffix(name, "_token_id"):
		return aWhole
	}
	return ""
}

// describe says of what kind a value is.
func describe(v any) string {
	switch v := v.(type) {
	case bool:
		return aFlag
	case string:
		return aText
	case int64, uint64:
		return aWhole
	case []string:
		return texts
	case numbers:
		switch v.kind {
		case kindBool:
			return flags
		case kindFloat:
			return singles
		case kindDouble:
			return doubles
		}
		return wholes
	}
	return aNumber
}
