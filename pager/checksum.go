package pager

import (
	"fmt"
	"sync/atomic"
)

// A Policy says which records are compared with their checksums when they are read.
type Policy uint8

const (
	Always Policy = iota // every record, whenever it is read
	First                // a record until it has once been right
	Off                  // none: what the flash gets wrong comes out as wrong numbers
)

func (p Policy) String() string {
	if p > Off {
		return fmt.Sprintf("Policy(%d)", uint8(p))
	}
	return [...]string{"always", "first", "off"}[p]
}

// ParsePolicy reads the name of a policy.
func ParsePolicy(s string) (Policy, error) {
	for p := Always; p <= Off; p++ {
		if s == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("checksum %q: there are always, first and off", s)
}

// Checks is a policy with what it remembers of two files, from pass to pass: a bit for each place where a record may begin.
// It is safe for concurrent use. A nil *Checks is the policy Off.
//
// Of First: records that were right once are trusted for as long as the Checks is, so it must not outlive the opened files.
// A record that came wrong is not remembered, however it ended.
type Checks struct {
	policy         Policy
	align          int64
	dense, experts []atomic.Uint64 // none but for First
}

// NewChecks makes the checks of a package whose records begin at multiples of align. dense and experts are the bytes of its
// files; a record beyond them, or off the alignment, is compared whenever it is read.
func NewChecks(p Policy, dense, experts, align int64) *Checks {
	c := &Checks{policy: p, align: align}
	if p == First {
		words := func(size int64) []atomic.Uint64 { return make([]atomic.Uint64, (size/align+63)/64) }
		c.dense, c.experts = words(dense), words(experts)
	}
	return c
}

// due reports whether a record that was read is to be compared.
func (c *Checks) due(dense bool, off int64) bool {
	if c == nil || c.policy == Off {
		return false
	}
	word, bit := c.at(dense, off)
	return word == nil || word.Load()&bit == 0
}

// passed notes that a record was right.
func (c *Checks) passed(dense bool, off int64) {
	if word, bit := c.at(dense, off); word != nil {
		word.Or(bit)
	}
}

// at is the bit of a record; nil where there is none.
func (c *Checks) at(dense bool, off int64) (word *atomic.Uint64, bit uint64) {
	words, i := c.experts, off/c.align
	if dense {
		words = c.dense
	}
	if off < 0 || off%c.align != 0 || i/64 >= int64(len(words)) {
		return nil, 0
	}
	return &words[i/64], 1 << (i % 64)
}
