package tokenizer

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// matcher calls found with the bounds of each match in text, in order and apart. It stops at found's first error.
type matcher func(text string, found func(start, end int) error) error

// loadPattern reads {"String": s} or {"Regex": r}.
func loadPattern(path string, value rawValue) (matcher, error) {
	var text, regex *string
	if err := readObject(path, value, map[string]any{"String?": &text, "Regex?": &regex}); err != nil {
		return nil, err
	}
	switch {
	case text != nil && regex == nil && *text != "":
		return literal(*text).find, nil
	case regex != nil && text == nil:
		find, err := compile(*regex)
		if err != nil {
			return nil, fmt.Errorf("%s.Regex: %w", path, err)
		}
		return find, nil
	}
	return nil, fmt.Errorf("%s: %v is not one String or Regex", path, value)
}

// compile returns a scanner for the regular expressions of the model families, else a backtracking engine.
func compile(regex string) (matcher, error) {
	switch regex {
	case gpt2Regex:
		return gpt2Words.find, nil
	case qwen2Regex:
		return qwen2Words.find, nil
	case llama3Regex:
		return llama3Words.find, nil
	case trailingSpaceRegex:
		return findTrailingSpace, nil
	}
	if run, ok := parseRun(regex); ok {
		return run.find, nil
	}
	return backtrack(regex, matchLimit)
}

// literal finds a string.
type literal string

func (l literal) find(text string, found func(start, end int) error) error {
	for from := 0; ; {
		at := strings.Index(text[from:], string(l))
		if at < 0 {
			return nil
		}
		start := from + at
		from = start + len(l)
		if err := found(start, from); err != nil {
			return err
		}
	}
}

// matchLimit bounds one search of the backtracking engine, which may take time exponential in the text.
const matchLimit = 2 * time.Second

// backtrack compiles a regular expression written for Oniguruma with regexp2. What the two read differently is refused;
// a search for one match that takes longer than limit fails.
func backtrack(regex string, limit time.Duration) (matcher, error) {
	spelled := strings.ReplaceAll(regex, foldedContractions, spelledContractions)
	if construct := foreign(spelled); construct != "" {
		return nil, fmt.Errorf("%q: %s is not supported", regex, construct)
	}
	re, err := regexp2.Compile(spelled, regexp2.Multiline)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", regex, err)
	}
	re.MatchTimeout = limit
	return func(text string, found func(start, end int) error) error {
		runes := []rune(text)
		at, start := 0, 0 // runes and bytes passed
		m, err := re.FindRunesMatch(runes)
		for ; err == nil && m != nil; m, err = re.FindNextMatch(m) {
			start += byteLen(runes[at:m.Index])
			at = m.Index + m.Length
			end := start + byteLen(runes[m.Index:at])
			if err := found(start, end); err != nil {
				return err
			}
			start = end
		}
		if err != nil {
			return fmt.Errorf("pattern %q on %d bytes of text took more than %v", regex, len(text), limit)
		}
		return nil
	}, nil
}

func byteLen(runes []rune) (n int) {
	for _, r := range runes {
		n += utf8.RuneLen(r)
	}
	return n
}

const (
	foldedContractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	// Folding case takes the long s too, which regexp2 does not.
	spelledContractions = `(?:'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
)

// foreign returns the first construct that Oniguruma and regexp2 read differently, or "".
func foreign(regex string) string {
	inClass := false
	for i := 0; i < len(regex); i++ {
		rest := regex[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			if strings.IndexByte(`wWbBhHRXKGNOyY`, rest[1]) >= 0 {
				return rest[:2]
			}
			i++
		case inClass && (rest[0] == '[' || strings.HasPrefix(rest, "&&")):
			return "a class within a class"
		case inClass:
			inClass = rest[0] != ']'
		case rest[0] == '[':
			inClass = true
		case strings.HasPrefix(rest, "{,"):
			return "{,"
		case strings.HasPrefix(rest, "(?") && len(rest) > 2 && strings.IndexByte(":=!><", rest[2]) < 0:
			return rest[:3]
		}
	}
	return ""
}
