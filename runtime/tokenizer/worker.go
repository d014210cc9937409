package tokenizer

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// worker encodes words for one goroutine at a time. It remembers the ids of short words; what it remembers is bounded,
// and all forgotten at once when full.
type worker struct {
	model   *model
	known   map[string]idRange
	ids     []int32 // what known refers to
	symbols []symbol
	queue   mergeQueue
}

type idRange struct{ start, end int32 }

const (
	longestKnown = 64      // bytes of a word
	mostKnown    = 1 << 14 // words
)

func newWorker(m *model) *worker {
	return &worker{model: m, known: map[string]idRange{}}
}

// encode appends the ids of a word to ids.
func (w *worker) encode(ids []int32, word string) ([]int32, error) {
	for word != "" {
		end := w.model.nextMark(word)
		var err error
		if ids, err = w.encodePart(ids, word[:end]); err != nil {
			return nil, err
		}
		word = word[end:]
	}
	return ids, nil
}

func (w *worker) encodePart(ids []int32, word string) ([]int32, error) {
	if at, ok := w.known[word]; ok {
		return append(ids, w.ids[at.start:at.end]...), nil
	}
	if len(word) > math.MaxInt32 {
		return nil, fmt.Errorf("a word of %d bytes is too long, the most is %d", len(word), math.MaxInt32)
	}
	start := len(ids)
	ids, err := w.apply(ids, word)
	if err == nil && len(word) <= longestKnown {
		w.remember(word, ids[start:])
	}
	return ids, err
}

func (w *worker) remember(word string, ids []int32) {
	if len(w.known) == mostKnown {
		clear(w.known)
		w.ids = w.ids[:0]
	}
	start := int32(len(w.ids))
	w.ids = append(w.ids, ids...)
	w.known[strings.Clone(word)] = idRange{start, int32(len(w.ids))}
}

// apply encodes a word by the model.
func (w *worker) apply(ids []int32, word string) ([]int32, error) {
	if w.model.ignoreMerges {
		if id, ok := w.model.vocab.id(word); ok {
			return append(ids, id), nil
		}
	}
	if err := w.spell(word); err != nil {
		return nil, err
	}
	w.merge()
	for at := int32(0); at != noSymbol && len(w.symbols) > 0; at = w.symbols[at].next {
		ids = append(ids, w.symbols[at].id)
	}
	return ids, nil
}

// spell sets the symbols to the tokens of single characters. The token of an unknown character is added before that of
// the next known one, so the bytes of another character, if they come between, stand before it: so it is with the
// reference, though only where some byte tokens are missing.
func (w *worker) spell(word string) error {
	m := w.model
	unknown := false // an unknown character waits
	flush := func() {
		if unknown {
			w.add(m.unk)
		}
		unknown = false
	}
	w.symbols = w.symbols[:0]
	for at, r := range word {
		char := word[at : at+utf8.RuneLen(r)]
		id, ok := m.vocab.id(char)
		switch {
		case ok:
			flush()
			w.add(id)
		case w.addBytes(char):
		case m.unk == noID:
			return fmt.Errorf("no token for %q, and the model has no unk_token", char)
		default:
			if !m.fuseUnk {
				flush()
			}
			unknown = true
		}
	}
	flush()
	return nil
}

// addBytes adds the tokens of a character's bytes if the model has all of them.
func (w *worker) addBytes(char string) bool {
	ids := w.model.bytes
	if ids == nil {
		return false
	}
	for i := range len(char) {
		if ids[char[i]] == noID {
			return false
		}
	}
	for i := range len(char) {
		w.add(ids[char[i]])
	}
	return true
}
