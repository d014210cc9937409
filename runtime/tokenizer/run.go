package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// run finds what `\s?[...]+` finds, where the class is plain characters and ranges; the first and the last part may
// be missing. DeepSeek's pre-tokenizer is made of these, with classes of hundreds of ranges.
type run struct {
	class *unicode.RangeTable
	space bool // a white space may come first
	many  bool // one or more of the class, not just one
}

// parseRun returns the run that a regular expression describes, and whether it is one.
func parseRun(regex string) (run, bool) {
	var r run
	regex, r.space = strings.CutPrefix(regex, `\s?`)
	regex, r.many = strings.CutSuffix(regex, "]+")
	if !r.many {
		var ok bool
		if regex, ok = strings.CutSuffix(regex, "]"); !ok {
			return r, false
		}
	}
	regex, ok := strings.CutPrefix(regex, "[")
	if !ok || regex == "" || strings.ContainsAny(regex, `\[]^&`) {
		return r, false
	}
	r.class, ok = parseClass([]rune(regex))
	return r, ok
}

// parseClass reads characters and ranges. A hyphen that makes no range is left to the regular-expression engine.
func parseClass(chars []rune) (*unicode.RangeTable, bool) {
	var ranges []unicode.Range32
	for i := 0; i < len(chars); i++ {
		lo, hi := chars[i], chars[i]
		if i+2 < len(chars) && chars[i+1] == '-' {
			i += 2
			hi = chars[i]
		}
		if lo == '-' || hi == '-' || lo > hi {
			return nil, false
		}
		ranges = append(ranges, unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1})
	}
	slices.SortFunc(ranges, func(a, b unicode.Range32) int { return cmp.Compare(a.Lo, b.Lo) })
	apart := ranges[:1]
	for _, r := range ranges[1:] {
		if last := &apart[len(apart)-1]; r.Lo <= last.Hi {
			last.Hi = max(last.Hi, r.Hi)
		} else {
			apart = append(apart, r)
		}
	}
	return rangetable.Merge(&unicode.RangeTable{R32: apart}), true // Merge puts short ones where they are found faster; of many it takes time quadratic in them
}

// find is a matcher.
func (r run) find(text string, found func(start, end int) error) error {
	for at := 0; at < len(text); {
		n := r.match(text[at:])
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[at:])
		} else if err := found(at, at+n); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// match returns the length of the match that text starts with, or 0.
func (r run) match(text string) int {
	c, n := utf8.DecodeRuneInString(text)
	if r.space && unicode.IsSpace(c) {
		if m := r.members(text[n:]); m > 0 {
			return n + m
		}
	}
	return r.members(text)
}

// members returns the length of the characters of the class at the start of text.
func (r run) members(text string) int {
	for at, c := range text {
		if !unicode.Is(r.class, c) {
			return at
		}
		if !r.many {
			return at + utf8.RuneLen(c)
		}
	}
	return len(text)
}

const trailingSpaceRegex = `\s+$`

// findTrailingSpace finds white space before the end of a line or of the text; a line's end is not taken where more
// than white space comes after it.
func findTrailingSpace(text string, found func(start, end int) error) error {
	for at := 0; at < len(text); {
		skip := strings.IndexFunc(text[at:], unicode.IsSpace)
		if skip < 0 {
			return nil
		}
		start := at + skip
		at = start + span(text[start:], space, 0)
		end := at
		if at < len(text) {
			end = start + strings.LastIndexByte(text[start:at], '\n')
		}
		if end > start {
			if err := found(start, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// findDigits finds each numeric character.
func findDigits(text string, found func(start, end int) error) error {
	for at, c := range text {
		if unicode.IsNumber(c) {
			if err := found(at, at+utf8.RuneLen(c)); err != nil {
				return err
			}
		}
	}
	return nil
}
