package tokenizer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// rawValue is one JSON value without white space around it, not yet decoded. Where the file is no JSON it is any bytes:
// everything here takes those too, and what comes of it does not matter.
type rawValue []byte

func (v rawValue) isNull() bool { return len(v) == 0 || v[0] == 'n' }

// String returns the value, shortened, for an error.
func (v rawValue) String() string {
	const most = 60
	if len(v) <= most {
		return string(v)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(v[cut]) {
		cut--
	}
	return string(v[:cut]) + "…"
}

// check checks that data is JSON in UTF-8.
func check(data []byte) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("not UTF-8 at byte %d", invalidUTF8(string(data)))
	}
	if json.Valid(data) {
		return nil
	}
	err := json.Unmarshal(data, new(any))
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
		return fmt.Errorf("not JSON at byte %d: %w", syntax.Offset, err)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// readObject decodes each member of an object into the target that has its name; a *rawValue target is left undecoded.
// A name that ends in a question mark may be absent, its target stays as it was. A member without a target is an error.
func readObject(path string, object rawValue, targets map[string]any) error {
	if len(object) == 0 || object[0] != '{' {
		return fmt.Errorf("%s: %v is not an object", path, object)
	}
	seen := map[string]bool{}
	for name, value := range members(object) {
		key := string(name)
		at := fieldPath(path, key)
		target := cmp.Or(targets[key], targets[key+"?"])
		if target == nil || strings.HasSuffix(key, "?") {
			return fmt.Errorf("%s: field is not supported (its value is %v)", at, value)
		}
		if seen[key] {
			return fmt.Errorf("%s: field is given twice", at)
		}
		seen[key] = true
		if raw, ok := target.(*rawValue); ok {
			*raw = value
		} else if err := json.Unmarshal(value, target); err != nil {
			return fmt.Errorf("%s: %v is not %s", at, value, wanted(target))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(targets)) {
		if !strings.HasSuffix(key, "?") && !seen[key] {
			return fmt.Errorf("%s: field is missing", fieldPath(path, key))
		}
	}
	return nil
}

// wanted describes the values that decode into target.
func wanted(target any) string {
	switch target.(type) {
	case *bool:
		return "true or false"
	case *string, **string:
		return "a string"
	case *int, *int64:
		return "a whole number"
	case *float64:
		return "a number"
	}
	return "of the known form"
}

func fieldPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// readArray returns the elements of an array.
func readArray(path string, array rawValue) (iter.Seq[rawValue], error) {
	if len(array) == 0 || array[0] != '[' {
		return nil, fmt.Errorf("%s: %v is not an array", path, array)
	}
	return elements(array), nil
}

// members yields the names and values of an object.
func members(object rawValue) iter.Seq2[[]byte, rawValue] {
	return func(yield func([]byte, rawValue) bool) {
		var key []byte
		for value := range elements(object) {
			if key == nil {
				key = unquote(value)
				continue
			}
			if !yield(key, value) {
				return
			}
			key = nil
		}
	}
}

// elements yields the values of an array, or the names and values of an object by turns.
func elements(list rawValue) iter.Seq[rawValue] {
	return func(yield func(rawValue) bool) {
		for at := 1; ; {
			for at < len(list) && isSeparator(list[at]) {
				at++
			}
			if at >= len(list) || list[at] == ']' || list[at] == '}' {
				return
			}
			end := valueEnd(list, at)
			if !yield(list[at:end]) {
				return
			}
			at = end
		}
	}
}

// element returns element n of an array that has it.
func element(array rawValue, n int) (e rawValue) {
	for e = range elements(array) {
		if n--; n < 0 {
			break
		}
	}
	return e
}

func isSeparator(c byte) bool {
	return c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// valueEnd returns where the value that starts at at ends.
func valueEnd(data []byte, at int) int {
	switch data[at] {
	case '"':
		return stringEnd(data, at)
	case '{', '[':
		return bracketEnd(data, at)
	}
	for at < len(data) && !isSeparator(data[at]) && data[at] != '}' && data[at] != ']' {
		at++
	}
	return at
}

// turns has what changes how bracketEnd goes on; most bytes do not.
var turns = [256]byte{'"': '"', '\\': '\\', '[': '[', '{': '[', ']': ']', '}': ']'}

func bracketEnd(data []byte, at int) int {
	depth, quoted := 0, false
	for ; at < len(data); at++ {
		turn := turns[data[at]]
		if turn == 0 {
			continue
		}
		switch {
		case turn == '"':
			quoted = !quoted
		case quoted:
			if turn == '\\' {
				at++
			}
		case turn == '[':
			depth++
		case turn == ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(data)
}

func stringEnd(data []byte, at int) int {
	for at++; at < len(data) && data[at] != '"'; at++ {
		if data[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(data))
}

// unquote returns the text of a string, never nil.
func unquote(quoted rawValue) []byte {
	if len(quoted) < 2 {
		return []byte{}
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	json.Unmarshal(quoted, &s) // a string, if the file is JSON
	return []byte(s)
}
