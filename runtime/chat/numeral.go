package chat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	digit = regexp.MustCompile(`^\p{Nd}`)
	// numeral is a number of an expression, and beyond one what makes it another of gonja's.
	numeral = regexp.MustCompile(`^(?i:` + digits + `(?:(?:\.` + digits + `)?e[-+]?` + digits + `|\.` + digits + `)` +
		`|0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*)`)
	beyond = regexp.MustCompile(`^(?:[\pL\p{Nd}_]|\.(?:[^\pL_]|$))`)
)

const digits = `(?:\d+_)*\d+`

// number passes a number.
func (s *spacer) number() {
	text := numeral.FindString(s.left)
	if text == "" || beyond.MatchString(s.left[len(text):]) {
		s.refuse(fmt.Sprintf("%.20q is no number", s.left))
		return
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if whole := !strings.ContainsAny(text, ".eE") || strings.ContainsAny(text, "xX"); whole && (err != nil || n > maxWhole) {
		s.refuse(fmt.Sprintf("a number of more than %d is not known", maxWhole))
	}
	s.take(len(text))
}
