package tokenizer

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found in the text before anything is cut into words.
type addedToken struct {
	id         int32
	content    string
	singleWord bool // only where no word character touches it
	lstrip     bool // takes the white space before it
	rstrip     bool // takes the white space after it
	normalized bool // looked for in the normalized text
}

// addedTokens is a tree of added tokens by their bytes: each node is a prefix.
type addedTokens struct {
	next  map[byte]*addedTokens
	token *addedToken // the token that ends here, if any
}

// loadAdded reads added_tokens into the vocabulary and the two trees.
func (t *Tokenizer) loadAdded(path string, value rawValue) error {
	if value.isNull() {
		return nil
	}
	values, err := readArray(path, value)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	at := ""
	for v := range values {
		at = fmt.Sprintf("%s[%d]", path, len(seen))
		added, err := readAdded(at, v)
		if err != nil {
			return err
		}
		if seen[added.content] {
			return fmt.Errorf("%s.content: token %q is given twice", at, added.content)
		}
		seen[added.content] = true
		if err := t.add(at, added); err != nil {
			return err
		}
	}
	return t.vocab.sort(path)
}

func readAdded(path string, value rawValue) (*addedToken, error) {
	var id int64
	var special bool // matters only to who prints
	a := &addedToken{}
	err := readObject(path, value, map[string]any{
		"id":          &id,
		"content":     &a.content,
		"single_word": &a.singleWord,
		"lstrip":      &a.lstrip,
		"rstrip":      &a.rstrip,
		"normalized":  &a.normalized,
		"special":     &special,
	})
	switch {
	case err != nil:
		return nil, err
	case id < 0 || id > math.MaxInt32:
		return nil, fmt.Errorf("%s.id: %d is not a number from 0 to %d", path, id, math.MaxInt32)
	case a.content == "":
		return nil, fmt.Errorf("%s.content: empty", path)
	}
	a.id = int32(id)
	return a, nil
}

func (t *Tokenizer) add(path string, a *addedToken) error {
	if id, ok := t.vocab.id(a.content); !ok {
		t.vocab.add(token{id: a.id, text: a.content, literal: true})
	} else if id != a.id {
		return fmt.Errorf("%s.id: %d, but model.vocab has %q as %d", path, a.id, a.content, id)
	}
	if !a.normalized {
		t.rawAdded.insert(a.content, a)
		return nil
	}
	content, err := normalize(t.normalizers, a.content, mostNormal(len(a.content)))
	if err != nil {
		return fmt.Errorf("%s.content: %w", path, err)
	}
	if content == "" {
		return fmt.Errorf("%s.content: %q is empty once normalized", path, a.content)
	}
	t.normalAdded.insert(content, a)
	return nil
}

// insert adds a token under its spelling; the first of two with one spelling stays.
func (n *addedTokens) insert(spelling string, a *addedToken) {
	for i := range len(spelling) {
		if n.next == nil {
			n.next = map[byte]*addedTokens{}
		}
		child := n.next[spelling[i]]
		if child == nil {
			child = &addedTokens{}
			n.next[spelling[i]] = child
		}
		n = child
	}
	if n.token == nil {
		n.token = a
	}
}

// longest returns the longest token that text starts with, and its length there.
func (n *addedTokens) longest(text string) (found *addedToken, length int) {
	for i := range len(text) {
		if n = n.next[text[i]]; n == nil {
			break
		}
		if n.token != nil {
			found, length = n.token, i+1
		}
	}
	return found, length
}

// cut calls emit with the tokens in text, the leftmost and of those the longest, and with noID and a piece for the
// text between them.
func (n *addedTokens) cut(text string, emit func(p piece, id int32) error) error {
	from := 0
	between := func(to int) error {
		if from == to {
			return nil
		}
		return emit(piece{text[from:to], from == 0}, noID)
	}
	for at := 0; at < len(text) && n.next != nil; {
		a, length := n.longest(text[at:])
		if a == nil {
			at++
			continue
		}
		start, end := at, at+length
		at = end
		if a.singleWord && touchesWord(text[:start], text[end:]) {
			continue
		}
		if a.lstrip {
			start = from + len(strings.TrimRightFunc(text[from:start], unicode.IsSpace))
		}
		if a.rstrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			at = end
		}
		if err := between(start); err != nil {
			return err
		}
		if err := emit(piece{}, a.id); err != nil {
			return err
		}
		from = end
	}
	return between(len(text))
}

func touchesWord(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return before != "" && isWord(last) || after != "" && isWord(next)
}

// isWord is \w of Unicode's regular expressions (UTS 18).
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
