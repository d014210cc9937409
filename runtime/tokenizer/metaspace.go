package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// metaspace writes spaces as a visible mark, may put one in front, and may cut at them.
type metaspace struct {
	mark   string
	scheme string // where a mark is put in front: always, first or never
	split  bool
}

func readMetaspace(c component) (metaspace, error) {
	m := metaspace{scheme: "always", split: true}
	prefix := true // how files said never before they had prepend_scheme
	if err := c.read(map[string]any{
		"replacement":       &m.mark,
		"prepend_scheme?":   &m.scheme,
		"add_prefix_space?": &prefix,
		"str_rep?":          new(string), // replacement once more
		"split?":            &m.split,
	}); err != nil {
		return m, err
	}
	if utf8.RuneCountInString(m.mark) != 1 {
		return m, fmt.Errorf("%s.replacement: %q is not one character", c.path, m.mark)
	}
	switch m.scheme {
	case "always", "first":
		if !prefix {
			return m, fmt.Errorf("%s.add_prefix_space: false contradicts prepend_scheme %q", c.path, m.scheme)
		}
	case "never":
	default:
		return m, fmt.Errorf("%s.prepend_scheme: %q is not supported", c.path, m.scheme)
	}
	return m, nil
}

func (m metaspace) preTokenizers() []preTokenizer {
	steps := []preTokenizer{whole(m.replace)}
	if m.split {
		steps = append(steps, splitter{find: literal(m.mark).find, join: mergedWithNext}.cut)
	}
	return steps
}

func (m metaspace) replace(p piece) piece {
	p.text = strings.ReplaceAll(p.text, " ", m.mark)
	if m.scheme == "always" || m.scheme == "first" && p.first {
		p.text = withPrefix(m.mark, p.text)
	}
	return p
}

// decode is a decodeStep; the first token loses its marks where one was put in front.
func (m metaspace) decode(_ token, text string, first bool) string {
	space := " "
	if first && m.scheme != "never" {
		space = ""
	}
	return strings.ReplaceAll(text, m.mark, space)
}

func withPrefix(prefix, text string) string {
	if strings.HasPrefix(text, prefix) {
		return text
	}
	return prefix + text
}
