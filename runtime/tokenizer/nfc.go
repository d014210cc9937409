package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nfc returns the canonical composition of text. Where more than 30 marks stand on one character, norm puts U+034F
// between them (Unicode's stream-safe form), which is another text: such stretches are composed here.
func nfc(text string) string {
	var out strings.Builder
	for {
		start, end := longMarks(text)
		if start == end {
			break
		}
		out.WriteString(norm.NFC.String(text[:start]))
		out.WriteString(compose(decompose(text[start:end])))
		text = text[end:]
	}
	if out.Len() == 0 {
		return norm.NFC.String(text)
	}
	return out.String() + norm.NFC.String(text)
}

// longMarks returns the bounds of the first character with many marks, and of what it may be composed with.
func longMarks(text string) (start, end int) {
	const (
		firstMark = 0x300 // no character below it combines with what is before
		many      = 8     // a mark decomposes into at most 3, so fewer never reach 30
	)
	marks := 0
	for at, r := range text {
		var p norm.Properties
		if r >= firstMark {
			p = norm.NFC.PropertiesString(text[at:])
		}
		switch {
		case p.LeadCCC() != 0:
			marks++
		case marks >= many:
			return start, at
		default:
			marks = 0
			if r < firstMark || p.BoundaryBefore() {
				start = at
			}
		}
	}
	if marks >= many {
		return start, len(text)
	}
	return 0, 0
}

type classedRune struct {
	r     rune
	class uint8 // canonical combining class, 0 for what is no mark
}

// decompose returns the characters of text taken apart, marks in canonical order.
func decompose(text string) []classedRune {
	var out []classedRune
	for at, r := range text {
		parts := string(norm.NFD.PropertiesString(text[at:]).Decomposition())
		for _, part := range cmp.Or(parts, string(r)) {
			out = append(out, classedRune{part, norm.NFD.PropertiesString(string(part)).CCC()})
		}
	}
	for from := 0; from < len(out); {
		to := from + 1
		for to < len(out) && out[from].class != 0 && out[to].class != 0 {
			to++
		}
		slices.SortStableFunc(out[from:to], func(a, b classedRune) int { return cmp.Compare(a.class, b.class) })
		from = to
	}
	return out
}

// compose joins marks, and some other characters, to the last character that is no mark, where nothing of the same
// or a higher class stands between.
func compose(chars []classedRune) string {
	var out []rune
	base, last := -1, uint8(0) // place in out, and class of the last one there
	for _, c := range chars {
		if base >= 0 && (base == len(out)-1 || last < c.class) {
			if whole, ok := composePair(out[base], c.r); ok {
				out[base] = whole
				continue
			}
		}
		if c.class == 0 {
			base = len(out)
		}
		last = c.class
		out = append(out, c.r)
	}
	return string(out)
}

func composePair(a, b rune) (rune, bool) {
	pair := norm.NFC.String(string([]rune{a, b}))
	whole, n := utf8.DecodeRuneInString(pair)
	return whole, n == len(pair)
}
