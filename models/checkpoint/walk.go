package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A walker reads JSON token by token. encoding/json alone would take the last of two equal keys, match keys in any
// case, and round numbers; here each of these is an error or cannot happen. Depth is bounded because every value is
// asked for by kind, but for those that skip passes over.
type walker struct {
	file   string // for errors
	tensor string // for errors: the tensor being read, or ""
	text   []byte
	dec    *json.Decoder
}

// maxDepth bounds the nesting of values that are passed over.
const maxDepth = 32

func newWalker(file string, text []byte) *walker {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return &walker{file: file, text: text, dec: dec}
}

func (w *walker) fail(rule Rule, format string, args ...any) error {
	return &FormatError{File: w.file, Tensor: w.tensor, Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

// document reads the one object that the text must be; only white space may follow it.
func (w *walker) document(each func(key string) error) error {
	if len(w.text) == 0 || w.text[0] != '{' {
		return w.fail(RuleJSON, "begins with %.8q, want {", w.text)
	}
	if !utf8.Valid(w.text) {
		return w.fail(RuleJSON, "not UTF-8")
	}
	if err := w.object("the text", each); err != nil {
		return err
	}
	if rest := bytes.Trim(w.text[w.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return w.fail(RuleJSON, "%.8q after the closing brace", rest)
	}
	return nil
}

// object reads an object, calling each after every key to read its value.
func (w *walker) object(what string, each func(key string) error) error {
	if err := w.begin('{', what, "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for w.dec.More() {
		key, err := w.string("a key")
		if err != nil {
			return err
		}
		if seen[key] {
			return w.fail(RuleKey, "%.80q", key)
		}
		seen[key] = true
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

// array reads an array, calling each to read every element.
func (w *walker) array(what string, each func() error) error {
	if err := w.begin('[', what, "an array"); err != nil {
		return err
	}
	for w.dec.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

func (w *walker) begin(open json.Delim, what, kind string) error {
	t, err := w.token()
	if err != nil {
		return err
	}
	if t != open {
		return w.fail(RuleJSON, "%s is %s, want %s", what, describe(t), kind)
	}
	return nil
}

func (w *walker) string(what string) (string, error) {
	t, err := w.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", w.fail(RuleJSON, "%s is %s, want a string", what, describe(t))
	}
	return s, nil
}

// number reads a whole number of 0 to 2^63-1, written with digits alone.
func (w *walker) number(what string) (int64, error) {
	t, err := w.token()
	if err != nil {
		return 0, err
	}
	n, ok := t.(json.Number)
	if !ok {
		return 0, w.fail(RuleJSON, "%s is %s, want a number", what, describe(t))
	}
	v, err := strconv.ParseUint(string(n), 10, 63)
	if err != nil {
		return 0, w.fail(RuleNumber, "%s is %.40s, want a whole number of 0 to 2^63-1", what, n)
	}
	return int64(v), nil
}

// skip passes over a value of any kind.
func (w *walker) skip(depth int) error {
	if depth > maxDepth {
		return w.fail(RuleJSON, "nested deeper than %d", maxDepth)
	}
	next := bytes.TrimLeft(w.text[w.dec.InputOffset():], " \t\r\n:,")
	inner := func() error { return w.skip(depth + 1) }
	switch {
	case len(next) > 0 && next[0] == '{':
		return w.object("", func(string) error { return inner() })
	case len(next) > 0 && next[0] == '[':
		return w.array("", inner)
	}
	_, err := w.token()
	return err
}

func (w *walker) token() (json.Token, error) {
	t, err := w.dec.Token()
	if err != nil {
		return nil, w.fail(RuleJSON, "bad syntax after byte %d", w.dec.InputOffset())
	}
	return t, nil
}

func describe(t json.Token) string {
	switch t := t.(type) {
	case string:
		return fmt.Sprintf("the string %.40q", t)
	case json.Delim:
		return t.String()
	case nil:
		return "null"
	}
	return fmt.Sprintf("%.40v", t)
}
