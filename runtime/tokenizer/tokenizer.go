// Package tokenizer turns text into token ids and back as a checkpoint's tokenizer.json says, in pure Go.
//
// It reads byte-pair models (BPE), byte-level or SentencePiece-like, with the normalizers, pre-tokenizers,
// post-processors and decoders that go with them. The ids are those of Hugging Face's tokenizers library, but for
// characters that only one side's Unicode tables know.
//
// Invariants:
//
//	T1 nothing in a file is ignored: what is not supported is refused by name when the file is read
//	T2 nothing in a text is dropped: each character becomes tokens, or Encode fails
//	T3 a Tokenizer never changes after Parse, so any number of goroutines may use one
//	T4 encoding takes O(n log n) time in the length of the text, but for a pattern of the file's own that only a
//	   backtracking engine can run: that one has a time limit for each match
//	T5 what a Stream returns, joined, is what Decode returns
//	T6 no file makes a text, or a token that is decoded, more than 16 times as long before it is cut into words
//
// A Tokenizer keeps no reference to the data it was parsed from.
package tokenizer

import (
	"fmt"
	"os"
	"sync"
	"unicode/utf8"
)

// Tokenizer is one tokenizer.json, ready for use. It is safe for concurrent use.
type Tokenizer struct {
	name          string
	vocab         *vocabulary
	model         *model
	rawAdded      addedTokens // cut out of the text as it is written
	normalAdded   addedTokens // cut out of the normalized text
	normalizers   []normalizer
	preTokenizers []preTokenizer
	template      template
	decoder       decoder
	workers       sync.Pool // of *worker
}

// maxFile is how many bytes a tokenizer.json that Open reads may have.
const maxFile = 64 << 20

// Open reads the tokenizer.json file at path. An error names the file, the field and its value.
func Open(path string) (*Tokenizer, error) {
	info, err := os.Stat(path) // before opening, which would wait at a pipe
	switch {
	case err != nil:
		return nil, fmt.Errorf("tokenizer: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fmt.Errorf("tokenizer %s: want a regular file of at most %d bytes", path, maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a tokenizer.json from memory; name stands for the file in errors.
func Parse(name string, data []byte) (*Tokenizer, error) {
	t, err := load(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", name, err)
	}
	t.name = name
	t.workers.New = func() any { return newWorker(t.model) }
	return t, nil
}

// Token returns the token of an id as the file spells it, and whether there is one.
func (t *Tokenizer) Token(id int32) (string, bool) {
	token, ok := t.vocab.token(id)
	return token.text, ok
}

// Size returns 1 + the largest id. Ids below it may lack a token.
func (t *Tokenizer) Size() int { return t.vocab.size() }

// Encode returns the ids of a text, which must be UTF-8. Special tokens written in the text are always recognised;
// special says whether those of the file's post-processor (such as a leading <s>) are added too.
// A character that the vocabulary cannot express is an error.
func (t *Tokenizer) Encode(text string, special bool) ([]int32, error) {
	if at := invalidUTF8(text); at >= 0 {
		return nil, fmt.Errorf("tokenizer %s: text is not UTF-8 at byte %d", t.name, at)
	}
	w := t.workers.Get().(*worker)
	defer t.workers.Put(w)
	ids := make([]int32, 0, len(text)/4+len(t.template.before)+len(t.template.after))
	if special {
		ids = append(ids, t.template.before...)
	}
	ids, err := t.encode(w, ids, text)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", t.name, err)
	}
	if special {
		ids = append(ids, t.template.after...)
	}
	return ids, nil
}

func (t *Tokenizer) encode(w *worker, ids []int32, text string) ([]int32, error) {
	cut := preTokenize(t.preTokenizers, func(p piece) (err error) {
		ids, err = w.encode(ids, p.text)
		return err
	})
	left := mostNormal(len(text))
	err := t.rawAdded.cut(text, func(p piece, id int32) error {
		if id != noID {
			ids = append(ids, id)
			return nil
		}
		normal, err := normalize(t.normalizers, p.text, left)
		if err != nil {
			return err
		}
		left -= len(normal)
		return t.normalAdded.cut(normal, func(q piece, id int32) error {
			if id != noID {
				ids = append(ids, id)
				return nil
			}
			if q.text == "" {
				return nil
			}
			q.first = q.first && p.first
			return cut(q)
		})
	})
	return ids, err
}

// invalidUTF8 returns the place of the first byte that is not part of a UTF-8 character, or -1.
func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for at, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[at:]); n == 1 {
				return at
			}
		}
	}
	return -1
}
