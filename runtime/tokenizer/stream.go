package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Stream decodes ids one by one for display. It never returns part of a UTF-8 character while the rest may still
// come. To go on from a prompt, push the prompt's ids first and drop what they return. One goroutine may use it at a
// time; several Streams may share a Tokenizer.
type Stream struct {
	t     *Tokenizer
	begun bool
	strip int    // characters that may still be taken from the start
	held  []byte // an incomplete character
}

// Stream returns a Stream at the start of a text.
func (t *Tokenizer) Stream() *Stream { return &Stream{t: t, strip: t.decoder.most} }

// Push returns the text that id completes, maybe none. Bytes that no id can make valid come as they are. An id without
// a token, such as a padded row of a model's head, counts as U+FFFD.
func (s *Stream) Push(id int32) string {
	text := string(utf8.RuneError)
	if token, ok := s.t.vocab.token(id); ok {
		text = s.t.decoder.text(token, !s.begun)
	}
	s.begun = true
	s.held = append(s.held, text...)
	whole := wholeChars(s.held)
	out := string(s.held[:whole])
	s.held = append(s.held[:0], s.held[whole:]...)
	return s.stripped(out)
}

// Flush returns what is held, the bytes of an incomplete character, and starts a new text.
func (s *Stream) Flush() string {
	out := string(s.held)
	*s = Stream{t: s.t, strip: s.t.decoder.most, held: s.held[:0]}
	return out
}

func (s *Stream) stripped(out string) string {
	for s.strip > 0 && out != "" {
		rest, ok := strings.CutPrefix(out, s.t.decoder.strip)
		if !ok {
			s.strip = 0
			break
		}
		out = rest
		s.strip--
	}
	return out
}

// wholeChars returns the length of b without the start of a character at its end.
func wholeChars(b []byte) int {
	for at := len(b) - 1; at >= 0 && at > len(b)-utf8.UTFMax; at-- {
		if utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}

// Decode returns the exact bytes that the ids stand for, special tokens included; they need not be UTF-8.
// An id without a token is an error.
func (t *Tokenizer) Decode(ids []int32) (string, error) {
	var out strings.Builder
	s := t.Stream()
	for i, id := range ids {
		if _, ok := t.vocab.token(id); !ok {
			return "", fmt.Errorf("tokenizer %s: id %d at place %d has no token; ids are below %d", t.name, id, i, t.Size())
		}
		out.WriteString(s.Push(id))
	}
	out.WriteString(s.Flush())
	return out.String(), nil
}
