package chat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// rawBegin and rawEnd are around what is text, whatever it holds.
	rawBegin   = regexp.MustCompile(`^\{%[-+]?\s*raw\s*[-+]?%\}`)
	rawEnd     = regexp.MustCompile(`\{%[-+]?\s*endraw`)
	blockBegin = regexp.MustCompile(`^\{%[-+]?`)
	commentEnd = regexp.MustCompile(`#\}`)
	// quoted is a text of an expression.
	quoted = regexp.MustCompile(`^(?s:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")`)
)

// wordOperators are the operators that gonja knows before a space alone.
var wordOperators = []string{"and", "in", "is", "not", "or"}

// spaced returns a template whose expressions have spaces where Jinja needs none: beside a
// line's end and behind operators that are words. Else gonja takes "\nx" for a name. It refuses
// what Jinja does not know in an expression, as gonja leaves it out.
func spaced(text string) (string, error) {
	s := spacer{left: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)}
	for s.left != "" && s.err == nil {
		switch {
		case rawBegin.MatchString(s.left):
			s.before(rawEnd)
		case strings.HasPrefix(s.left, "{#"):
			s.before(commentEnd)
		case strings.HasPrefix(s.left, "{{"):
			s.take(2)
			s.expression("}}")
		case strings.HasPrefix(s.left, "{%"):
			s.take(len(blockBegin.FindString(s.left)))
			s.tag()
			s.expression("%}")
		default:
			s.take(1)
		}
	}
	return s.out.String(), s.err
}

// A spacer goes through a template.
type spacer struct {
	left string
	out  strings.Builder
	line int // ends of lines that were passed
	err  error
}

// take passes n bytes as they are.
func (s *spacer) take(n int) string {
	took := s.left[:n]
	s.out.WriteString(took)
	s.line += strings.Count(took, "\n")
	s.left = s.left[n:]
	return took
}

// before passes what stands before an end, or all.
func (s *spacer) before(end *regexp.Regexp) {
	if at := end.FindStringIndex(s.left); at != nil {
		s.take(at[0])
		return
	}
	s.take(len(s.left))
}

// tag passes a statement's name before the space that it stands behind, where gonja wants
// them in one line.
func (s *spacer) tag() {
	left := strings.TrimLeftFunc(s.left, unicode.IsSpace)
	space := s.left[:len(s.left)-len(left)]
	rest := strings.TrimLeftFunc(left, named)
	s.left = left[:len(left)-len(rest)] + space + rest
	s.out.WriteString(" ")
	s.name()
}

// expression passes an expression and its end.
func (s *spacer) expression(end string) {
	for braces := 0; s.left != "" && s.err == nil; {
		if strings.HasPrefix(s.left, end) && (braces == 0 || end != "}}") {
			s.take(len(end))
			return
		}
		c, n := utf8.DecodeRuneInString(s.left)
		switch {
		case quoted.MatchString(s.left):
			s.take(len(quoted.FindString(s.left)))
		case c == '\n':
			s.out.WriteString(" ")
			s.take(n)
			s.out.WriteString(" ")
		case unicode.IsSpace(c):
			s.left = s.left[n:]
			s.out.WriteString(" ")
		case named(c):
			if slices.Contains(wordOperators, s.name()) {
				s.out.WriteString(" ")
			}
		case c == '.':
			s.take(n)
			s.name() // an attribute's, if any
		case strings.ContainsRune("+-*/%~|,:<>=()[]{}", c) || strings.HasPrefix(s.left, "!="):
			braces += strings.Count("{", string(c)) - strings.Count("}", string(c))
			s.take(n)
		default:
			s.err = fmt.Errorf("line %d: %q has no meaning in an expression of Jinja", s.line+1, c)
		}
	}
}

// name passes a name or a number.
func (s *spacer) name() string {
	return s.take(len(s.left) - len(strings.TrimLeftFunc(s.left, named)))
}

// named reports whether c may stand in a name or a number.
func named(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }
