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
	tagBegin = regexp.MustCompile(`\{[{%#][-+]?`)
	// rawBegin and rawEnd are around what is text, whatever it holds.
	rawBegin = regexp.MustCompile(`^\{%[-+]?\s*raw\s*-?%\}`)
	rawEnd   = regexp.MustCompile(`\{%[-+]?\s*endraw\s*[-+]?%\}\n?`)
	noRawEnd = regexp.MustCompile(`\{%[-+]?\s*endraw`) // which gonja takes for one
	// The others are the ends of tags, with a line's end that they trim.
	commentEnd = regexp.MustCompile(`[-+]?#\}\n?`)
	printEnd   = regexp.MustCompile(`^-?\}\}`)
	blockEnd   = regexp.MustCompile(`^[-+]?%\}\n?`)
)

// wordOperators are the operators that gonja knows before a space alone.
var wordOperators = []string{"and", "in", "is", "not", "or"}

// spaced returns a template whose blocks are trimmed and stripped, and whose expressions have
// spaces where Jinja needs none: beside a line's end and behind operators that are words. Else gonja
// takes "\nx" for a name. It refuses what Jinja does not know in an expression, as gonja leaves it out.
func spaced(text string) (string, error) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	s := spacer{left: strings.TrimSuffix(text, "\n"), starts: true}
	for s.left != "" && s.err == nil {
		at := tagBegin.FindStringIndex(s.left)
		if at == nil {
			s.out.WriteString(s.left)
			break
		}
		tag := s.left[at[0]:at[1]]
		s.data(s.left[:at[0]], tag)
		switch raw := rawBegin.FindString(s.left); {
		case raw != "":
			s.close(raw)
			if end := s.before(rawEnd); end != nil {
				tag := s.left[end[0]:end[1]]
				s.data(s.left[:end[0]], tagBegin.FindString(tag))
				s.close(tag)
			}
		case tag[1] == '#':
			s.pass(len(tag))
			if end := s.before(commentEnd); end != nil {
				s.pass(end[0])
				s.close(s.left[:end[1]-end[0]])
			}
		case tag[1] == '%':
			s.open(tag)
			s.tag()
			s.expression("%}", blockEnd)
		default:
			s.open(tag)
			s.expression("}}", printEnd)
		}
	}
	return s.out.String(), s.err
}

// A spacer goes through a template.
type spacer struct {
	left   string
	out    strings.Builder
	line   int  // ends of lines that were passed
	owed   int  // of these, those that are not in out
	starts bool // whether left begins a line
	err    error
}

// take passes n bytes as they are, and pass without them.
func (s *spacer) take(n int) string {
	took := s.left[:n]
	s.out.WriteString(took)
	s.line += strings.Count(took, "\n")
	s.left = s.left[n:]
	return took
}

func (s *spacer) pass(n int) {
	lines := strings.Count(s.left[:n], "\n")
	s.line, s.owed, s.left = s.line+lines, s.owed+lines, s.left[n:]
}

// data passes what stands before a tag, of which the tag may strip a part; raw, it may hold tags.
func (s *spacer) data(text, tag string) {
	kept, line := text, strings.LastIndexByte(text, '\n')+1
	switch {
	case tag[2:] == "-":
		kept = strings.TrimRightFunc(text, isSpace)
	case tag[1] != '{' && tag[2:] != "+" && (line > 0 || s.starts) && strings.TrimLeftFunc(text[line:], isSpace) == "":
		kept = text[:line]
	}
	switch {
	case noRawEnd.MatchString(kept):
		s.refuse("raw text that holds an endraw is not known")
	case strings.Contains(kept, "{"): // of which what comes next may make a tag
		s.out.WriteString("{% raw %}")
		s.take(len(kept))
		s.out.WriteString("{% endraw %}")
	default:
		s.take(len(kept))
	}
	s.pass(len(text) - len(kept))
}

// refuse keeps why what is left is not known.
func (s *spacer) refuse(why string) { s.err = fmt.Errorf("line %d: %s", s.line+1, why) }

// before finds an end, which is an error if it is not there.
func (s *spacer) before(end *regexp.Regexp) []int {
	at := end.FindStringIndex(s.left)
	if at == nil {
		s.refuse("the template ends before what begins here")
	}
	return at
}

// open passes the begin of a tag, with a space, lest gonja take a sign behind it for a part of it. A
// comment makes up for lines that gonja would not count.
func (s *spacer) open(tag string) {
	if s.owed > 0 {
		s.out.WriteString("{#" + strings.Repeat("\n", s.owed) + "#}")
		s.owed = 0
	}
	s.out.WriteString(tag[:2] + " ")
	s.pass(len(tag))
}

// close passes the end of a tag, with what it trims.
func (s *spacer) close(end string) {
	mark := strings.TrimSuffix(end, "\n")
	switch n := len(mark); {
	case n > 2 && mark[n-3] == '-':
		end = s.left[:len(s.left)-len(strings.TrimLeftFunc(s.left[n:], isSpace))]
	case n > 2 && mark[n-3] == '+':
		end = mark
	}
	s.pass(len(end))
	s.starts = strings.HasSuffix(end, "\n")
}

// tag passes a statement's name before the space that it stands behind, where gonja wants
// them in one line.
func (s *spacer) tag() {
	left := strings.TrimLeftFunc(s.left, isSpace)
	space := s.left[:len(s.left)-len(left)]
	rest := strings.TrimLeftFunc(left, named)
	s.left = left[:len(left)-len(rest)] + space + rest
	if s.name() == "raw" {
		s.refuse("raw is not known with words behind it")
	}
}

// expression passes an expression and its end.
func (s *spacer) expression(end string, ends *regexp.Regexp) {
	for braces := 0; s.left != "" && s.err == nil; {
		if mark := ends.FindString(s.left); mark != "" && braces == 0 {
			if out := s.out.String(); strings.HasSuffix(out, "-") || strings.HasSuffix(out, "+") {
				s.out.WriteString(" ")
			}
			s.out.WriteString(end)
			s.close(mark)
			return
		}
		c, n := utf8.DecodeRuneInString(s.left)
		switch {
		case quoted.MatchString(s.left):
			s.text(quoted.FindString(s.left))
		case c == '\n':
			s.out.WriteString(" ")
			s.take(n)
			s.out.WriteString(" ")
		case isSpace(c):
			s.left = s.left[n:]
			s.out.WriteString(" ")
		case unicode.IsDigit(c):
			s.number()
		case named(c):
			if slices.Contains(wordOperators, s.name()) {
				s.out.WriteString(" ")
			}
		case c == '.':
			if s.take(n); !digit.MatchString(s.left) {
				s.name() // an attribute's, if any
			}
		case strings.ContainsRune("+-*/%~|,:<>=()[]{}", c) || strings.HasPrefix(s.left, "!="):
			braces += strings.Count("([{", string(c)) - strings.Count(")]}", string(c))
			s.take(n)
		default:
			s.refuse(fmt.Sprintf("%q has no meaning in an expression of Jinja", c))
		}
	}
}

// text passes a text in quotes. Its lines end behind it.
func (s *spacer) text(text string) {
	apart, err := requoted(text)
	if err != nil {
		s.refuse(err.Error())
	}
	s.pass(len(text))
	s.out.WriteString(apart + strings.Repeat(" \n ", s.owed))
	s.owed = 0
}

// name passes a name, or a number. Those of ours that a rewritten template has are no template's.
func (s *spacer) name() string {
	name := s.take(len(s.left) - len(strings.TrimLeftFunc(s.left, named)))
	if strings.HasPrefix(name, inner) {
		s.refuse(fmt.Sprintf("%.100q begins with %s, which is not known", name, inner))
	}
	return name
}

// named reports whether c may stand in a name or a number.
func named(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// isSpace reports whether c is what Python counts as white space.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }
