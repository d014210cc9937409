package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// quoted is a text of an expression.
	quoted  = regexp.MustCompile(`^(?s:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")`)
	escapes = regexp.MustCompile(`(?s)\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)`)
)

// requoted writes a text, which stands in quotes, so that gonja reads what Python does: of
// escapes it knows others, and a quote behind an escaped backslash ends no text.
func requoted(text string) (string, error) {
	var err error
	text = escapes.ReplaceAllStringFunc(text[1:len(text)-1], func(escape string) string {
		c, wrong := escaped(escape[1:])
		if wrong != nil {
			err = wrong
		}
		return c
	})
	return "'" + strings.NewReplacer(`\`, `\x5c`, "'", `\x27`, "\n", `\n`, "\r", `\r`).Replace(text) + "'", err
}

// escaped is what stands for an escape, of which the backslash is left out. Python keeps those that
// it does not know.
func escaped(escape string) (string, error) {
	const short, means = "abfnrtv\\'\"\n", "\a\b\f\n\r\t\v\\'\""
	digits, base := escape, 8
	switch i := strings.IndexByte(short, escape[0]); {
	case i == len(means):
		return "", nil
	case i >= 0:
		return means[i : i+1], nil
	case strings.Contains("xuUN", escape[:1]):
		digits, base = escape[1:], 16
	case escape[0] < '0' || escape[0] > '7':
		return `\` + escape, nil
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return "", fmt.Errorf(`\%s is no character`, escape)
	}
	return string(rune(n)), nil
}

// quote writes a text as a literal of Python.
func quote(text string) string {
	mark := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		mark = '"'
	}
	var b strings.Builder
	b.WriteRune(mark)
	for _, c := range text {
		switch i := strings.IndexRune("\n\r\t", c); {
		case i >= 0:
			b.WriteString(`\` + "nrt"[i:i+1])
		case c == mark || c == '\\':
			b.WriteString(`\` + string(c))
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteRune(mark)
	return b.String()
}
