package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The regular expressions by which GPT-2, Qwen2 and Llama-3 cut text into words. Their look-ahead gives the last of
// several spaces back to the word after it.
const (
	gpt2Regex   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	qwen2Regex  = foldedContractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	llama3Regex = foldedContractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

const (
	gpt2Words   words = 0
	qwen2Words  words = 1
	llama3Words words = 3
)

// words scans text as one of the three expressions does, in time linear in the text. Its value is the most digits of
// a number; 0 is GPT-2, where a number has any, may follow a space, and lines and the letters' case do not matter.
type words int

// find is a matcher; its matches cover the text.
func (w words) find(text string, found func(start, end int) error) error {
	for at := 0; at < len(text); {
		end := at + w.next(text[at:])
		if err := found(at, end); err != nil {
			return err
		}
		at = end
	}
	return nil
}

type charKind int

const (
	none charKind = iota
	letter
	number
	space
	other
)

// kindAt returns the first character of text, its length and its kind.
func kindAt(text string) (r rune, n int, k charKind) {
	r, n = utf8.DecodeRuneInString(text)
	switch {
	case n == 0:
		return r, n, none
	case unicode.IsLetter(r):
		return r, n, letter
	case unicode.IsNumber(r):
		return r, n, number
	case unicode.IsSpace(r):
		return r, n, space
	}
	return r, n, other
}

// span returns the length of at most limit characters of a kind at the start of text; 0 is no limit.
func span(text string, kind charKind, limit int) int {
	at := 0
	for count := 0; limit == 0 || count < limit; count++ {
		_, n, k := kindAt(text[at:])
		if k != kind {
			break
		}
		at += n
	}
	return at
}

// next returns the length of the first word of text, which is not empty.
func (w words) next(text string) int {
	if n := w.contraction(text); n > 0 {
		return n
	}
	r, n, kind := kindAt(text)
	lead := 0 // length of a character that goes with the word after it
	if kind == space || kind == other {
		_, _, after := kindAt(text[n:])
		if w.leads(r, after) {
			lead, kind = n, after
		}
	}
	switch kind {
	case letter:
		return lead + span(text[lead:], letter, 0)
	case number:
		return lead + span(text[lead:], number, int(w))
	case other:
		return lead + w.symbols(text[lead:])
	}
	return w.spaces(text)
}

// leads tells whether r, a space or another symbol, begins the word of the given kind after it.
func (w words) leads(r rune, word charKind) bool {
	switch word {
	case letter:
		return r == ' ' || w != gpt2Words && r != '\r' && r != '\n'
	case number:
		return r == ' ' && w == gpt2Words
	case other:
		return r == ' '
	}
	return false
}

// contraction returns the length of an English contraction's ending at the start of text, or 0.
func (w words) contraction(text string) int {
	if text[0] != '\'' {
		return 0
	}
	for _, ending := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		n := 1 + len(ending)
		if len(text) >= n && (text[1:n] == ending || w != gpt2Words && strings.EqualFold(text[1:n], ending)) {
			return n
		}
	}
	if w != gpt2Words && strings.HasPrefix(text, "'ſ") {
		return len("'ſ")
	}
	return 0
}

func (w words) symbols(text string) int {
	at := span(text, other, 0)
	for w != gpt2Words && at < len(text) && (text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

func (w words) spaces(text string) int {
	n := span(text, space, 0)
	if line := strings.LastIndexAny(text[:n], "\r\n"); line >= 0 && w != gpt2Words {
		return line + 1
	}
	_, last := utf8.DecodeLastRuneInString(text[:n])
	if n < len(text) && n > last {
		return n - last
	}
	return n
}
