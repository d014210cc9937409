package tokenizer

import (
	"math/bits"
	"math/rand/v2"
)

// rules is a hash table of merges by their pair of tokens, each in the first free slot from where its hash points. What
// a pair is multiplied with is random, so that no file can be made slow.
type rules struct {
	slots []rule // a power of two of them, a quarter free
	shift int    // of a product, to the number of a slot
	odd   uint64
	count int
}

type rule struct {
	pair
	after, id int32 // rank + 1, or 0 in a free slot
}

func newRules(n int) rules {
	width := max(1, bits.Len(uint(n+n/3)))
	return rules{slots: make([]rule, 1<<width), shift: 64 - width, odd: rand.Uint64() | 1}
}

// slot returns the rule of p, or the free one that it belongs in.
func (r *rules) slot(p pair) *rule {
	for at := int((uint64(uint32(p.left))<<32 | uint64(uint32(p.right))) * r.odd >> r.shift); ; at++ {
		s := &r.slots[at&(len(r.slots)-1)]
		if s.after == 0 || s.pair == p {
			return s
		}
	}
}

func (r *rules) find(p pair) (merge, bool) {
	s := r.slot(p)
	return merge{s.after - 1, s.id}, s.after != 0
}

// set gives p its merge, another if it has one.
func (r *rules) set(p pair, m merge) {
	if r.count >= len(r.slots)/4*3 {
		r.grow()
	}
	s := r.slot(p)
	if s.after == 0 {
		r.count++
	}
	*s = rule{p, m.rank + 1, m.id}
}

func (r *rules) grow() {
	old := r.slots
	*r = newRules(len(old))
	for _, s := range old {
		if s.after != 0 {
			r.set(s.pair, merge{s.after - 1, s.id})
		}
	}
}
