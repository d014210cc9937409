package tokenizer

import (
	"bytes"
	"fmt"
	"strings"
)

// model is byte-pair encoding: which two neighbouring tokens become one, and in what order.
type model struct {
	vocab        *vocabulary
	merges       rules
	unk          int32       // the token for an unknown character, or noID
	bytes        *[256]int32 // the tokens <0x00> to <0xFF>, noID where absent; nil without byte_fallback
	fuseUnk      bool        // neighbouring unknown characters become one token
	ignoreMerges bool        // a word that is a token is taken whole
	cutAtMark    bool        // no token has a ▁ after another character, so a word is cut before each such ▁
}

type pair struct{ left, right int32 }

type merge struct{ rank, id int32 }

// mark is how SentencePiece writes a space.
const mark = "▁"

func loadModel(path string, value rawValue, vocab *vocabulary) (*model, error) {
	c, err := newComponent(path, value)
	if err != nil {
		return nil, err
	}
	if c.kind != "BPE" && c.kind != "" {
		return nil, c.refuse()
	}
	m := &model{vocab: vocab, unk: noID}
	var dropout float64
	var unk *string
	var prefix, suffix string
	var fallback bool
	var tokens, merges rawValue
	if err := c.read(map[string]any{
		"dropout?":                   &dropout,
		"unk_token?":                 &unk,
		"continuing_subword_prefix?": &prefix,
		"end_of_word_suffix?":        &suffix,
		"fuse_unk?":                  &m.fuseUnk,
		"byte_fallback?":             &fallback,
		"ignore_merges?":             &m.ignoreMerges,
		"vocab":                      &tokens,
		"merges":                     &merges,
	}); err != nil {
		return nil, err
	}
	switch {
	case dropout != 0:
		return nil, fmt.Errorf("%s.dropout: %v is not supported, only null or 0", path, dropout)
	case prefix != "":
		return nil, fmt.Errorf("%s.continuing_subword_prefix: %q is not supported, only null or empty", path, prefix)
	case suffix != "":
		return nil, fmt.Errorf("%s.end_of_word_suffix: %q is not supported, only null or empty", path, suffix)
	}
	if err := vocab.load(path+".vocab", tokens); err != nil {
		return nil, err
	}
	if unk != nil {
		var ok bool
		if m.unk, ok = vocab.id(*unk); !ok {
			return nil, fmt.Errorf("%s.unk_token: %q is not in the vocabulary", path, *unk)
		}
	}
	if fallback {
		m.bytes = byteTokens(vocab)
	}
	return m, m.loadMerges(path+".merges", merges)
}

func byteTokens(vocab *vocabulary) *[256]int32 {
	var ids [256]int32
	for b := range ids {
		id, ok := vocab.id(fmt.Sprintf("<0x%02X>", b))
		if !ok {
			id = noID
		}
		ids[b] = id
	}
	return &ids
}

// loadMerges reads the merges, pairs ["a", "b"] or strings "a b", the most urgent first. Of a pair given twice the
// later place counts. All are read before any is looked up: memory is then waited for in many places at once.
func (m *model) loadMerges(path string, value rawValue) error {
	_, known := m.vocab.id(mark)
	m.cutAtMark = known && !m.ignoreMerges
	m.merges = newRules(len(m.vocab.tokens))
	texts, err := readMerges(path, value, len(m.vocab.tokens))
	pairs := make([]pair, len(texts))
	for i, t := range texts {
		pairs[i].left, _ = m.vocab.id(string(t.left))
		pairs[i].right, _ = m.vocab.id(string(t.right))
	}
	var joined []byte
	made := 0 // place of the last result
	for i, t := range texts {
		if t.left == nil {
			continue
		}
		joined = append(append(joined[:0], t.left...), t.right...)
		made = m.vocab.place(joined, made+1)
		if pairs[i].left == noID || pairs[i].right == noID || made < 0 {
			return fmt.Errorf("%s[%d]: %v: token %q is not in the vocabulary", path, i, element(value, i), m.firstUnknown(t.left, t.right, joined))
		}
		m.merges.set(pairs[i], merge{int32(i), m.vocab.tokens[made].id})
		m.cutAtMark = m.cutAtMark && !bytes.Contains(bytes.TrimLeft(joined, mark), []byte(mark))
	}
	if err == nil && m.merges.count == 0 {
		return fmt.Errorf("%s: no merges", path)
	}
	return err
}

func (m *model) firstUnknown(tokens ...[]byte) []byte {
	for _, text := range tokens {
		if _, ok := m.vocab.id(string(text)); !ok {
			return text
		}
	}
	return nil
}

// mergeText is the two sides of a merge; both are nil for the version line of an old merges file.
type mergeText struct{ left, right []byte }

// readMerges returns the texts of an array of about n merges, up to the first that is none, which is an error.
func readMerges(path string, array rawValue, n int) ([]mergeText, error) {
	values, err := readArray(path, array)
	if err != nil {
		return nil, err
	}
	texts := make([]mergeText, 0, n)
	for v := range values {
		left, right, ok := readMerge(v)
		if !ok {
			return texts, fmt.Errorf("%s[%d]: %v is not a pair of tokens", path, len(texts), v)
		}
		texts = append(texts, mergeText{left, right})
	}
	return texts, nil
}

// readMerge returns the two sides of a merge, or nil and nil for the version line of an old merges file.
func readMerge(v rawValue) (left, right []byte, ok bool) {
	switch v[0] {
	case '"':
		text := unquote(v)
		if bytes.HasPrefix(text, []byte("#version")) {
			return nil, nil, true
		}
		left, right, ok = bytes.Cut(text, []byte{' '})
		return left, right, ok && bytes.IndexByte(right, ' ') < 0
	case '[':
		sides := 0
		for side := range elements(v) {
			if side[0] != '"' {
				return nil, nil, false
			}
			left, right = right, unquote(side)
			sides++
		}
		return left, right, sides == 2
	}
	return nil, nil, false
}

// nextMark returns where a word must be cut: at the first ▁ after another character, or at its end.
func (m *model) nextMark(word string) int {
	if m.cutAtMark {
		lead := len(word) - len(strings.TrimLeft(word, mark))
		if at := strings.Index(word[lead:], mark); at >= 0 {
			return lead + at
		}
	}
	return len(word)
}
