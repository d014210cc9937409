package tokenizer

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// noID stands where there is no token.
const noID int32 = -1

// token is one entry of the vocabulary.
type token struct {
	id      int32
	text    string
	literal bool // only in added_tokens, not in model.vocab: its text is never in the byte alphabet
}

// vocabulary relates tokens and ids. Ids may have holes; memory grows with the number of tokens, not with the ids.
type vocabulary struct {
	tokens []token // ids ascending, once sorted
	places textIndex
}

// load adds all of model.vocab.
func (v *vocabulary) load(path string, vocab rawValue) error {
	if len(vocab) == 0 || vocab[0] != '{' {
		return fmt.Errorf("%s: %v is not an object", path, vocab)
	}
	const shortest = len(`"a":0,`)
	n := min(bytes.Count(vocab, []byte{':'}), len(vocab)/shortest)
	v.tokens = make([]token, 0, n)
	v.places = newTextIndex(n)
	var texts textBlock
	for name, value := range members(vocab) {
		text := texts.keep(name)
		id, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || id < 0 || id > math.MaxInt32 {
			return fmt.Errorf("%s[%q]: id %v is not a number from 0 to %d", path, text, value, math.MaxInt32)
		}
		if !v.add(token{id: int32(id), text: text}) {
			return fmt.Errorf("%s[%q]: token is given twice", path, text)
		}
	}
	return v.sort(path)
}

// add adds a token after the others, unless there is one of its text.
func (v *vocabulary) add(t token) bool {
	if !v.places.add(v.tokens, t.text) {
		return false
	}
	v.tokens = append(v.tokens, t)
	return true
}

// sort puts the tokens in order after additions. Two tokens with one id are an error.
func (v *vocabulary) sort(path string) error {
	byID := func(a, b token) int { return cmp.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(v.tokens, byID) {
		slices.SortFunc(v.tokens, byID)
		v.places = newTextIndex(len(v.tokens))
		for i, t := range v.tokens {
			v.places.add(v.tokens[:i], t.text)
		}
	}
	for i, t := range v.tokens {
		if i > 0 && v.tokens[i-1].id == t.id {
			return fmt.Errorf("%s: tokens %q and %q have one id, %d", path, v.tokens[i-1].text, t.text, t.id)
		}
	}
	return nil
}

func (v *vocabulary) id(text string) (int32, bool) {
	at := v.places.find(v.tokens, text)
	if at < 0 {
		return noID, false
	}
	return v.tokens[at].id, true
}

// place returns where a token stands in v.tokens, or -1. It looks at guess first: files list the tokens that merges make
// in the merges' order.
func (v *vocabulary) place(text []byte, guess int) int {
	if guess < len(v.tokens) && v.tokens[guess].text == string(text) {
		return guess
	}
	return v.places.find(v.tokens, string(text))
}

func (v *vocabulary) find(id int32) (int, bool) {
	return slices.BinarySearchFunc(v.tokens, id, func(t token, id int32) int { return cmp.Compare(t.id, id) })
}

func (v *vocabulary) token(id int32) (token, bool) {
	at, ok := v.find(id)
	if !ok {
		return token{}, false
	}
	return v.tokens[at], true
}

func (v *vocabulary) size() int {
	if len(v.tokens) == 0 {
		return 0
	}
	return int(v.tokens[len(v.tokens)-1].id) + 1
}
