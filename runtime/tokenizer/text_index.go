package tokenizer

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

// textIndex tells where in a list of tokens a text is. It is a hash table, each text in the first free slot from where
// its hash points. Its seed is random, so that no file can be made slow to read.
type textIndex struct {
	seed  maphash.Seed
	slots []textSlot // a power of two of them, a quarter free
}

type textSlot struct {
	hash  uint32
	after int32 // place + 1; 0: free
}

// newTextIndex makes an index with room for n texts.
func newTextIndex(n int) textIndex {
	return textIndex{maphash.MakeSeed(), make([]textSlot, 1<<bits.Len(uint(n+n/3)))}
}

// slot returns the slot of text in tokens, or the free one that it belongs in, and its hash.
func (x *textIndex) slot(tokens []token, text string) (s *textSlot, hash uint32) {
	h := maphash.String(x.seed, text)
	hash = uint32(h >> 32)
	for at := int(h); ; at++ {
		s = &x.slots[at&(len(x.slots)-1)]
		if s.after == 0 || s.hash == hash && tokens[s.after-1].text == text {
			return s, hash
		}
	}
}

// find returns the place of text, or -1.
func (x *textIndex) find(tokens []token, text string) int {
	s, _ := x.slot(tokens, text)
	return int(s.after) - 1
}

// add gives text the place after tokens, unless it has one.
func (x *textIndex) add(tokens []token, text string) bool {
	if len(tokens) >= len(x.slots)/4*3 {
		x.grow(tokens)
	}
	s, hash := x.slot(tokens, text)
	if s.after != 0 {
		return false
	}
	*s = textSlot{hash, int32(len(tokens)) + 1}
	return true
}

func (x *textIndex) grow(tokens []token) {
	*x = newTextIndex(2 * len(x.slots))
	for i, t := range tokens {
		s, hash := x.slot(tokens, t.text)
		*s = textSlot{hash, int32(i) + 1}
	}
}

// textBlock keeps short texts together.
type textBlock struct{ b strings.Builder }

func (k *textBlock) keep(text []byte) string {
	const size = 64 << 10
	if k.b.Cap()-k.b.Len() < len(text) {
		k.b = strings.Builder{}
		k.b.Grow(max(size, len(text)))
	}
	from := k.b.Len()
	k.b.Write(text)
	return k.b.String()[from:]
}
