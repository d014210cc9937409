package lowertest

import (
	"bytes"
	"fmt"

	"estream/ir"
	"estream/lower"
)

// guard is the distance, in bytes, that buffers on a stage keep from each other
// and from its ends.
const guard = 128

// A stage is one memory in which the buffers of a call stand apart. What is
// around them, and what the call may only read, must not change.
type stage struct {
	mem    lower.Mem
	end    int64
	spans  []span // in ascending order
	before []byte // all bytes as they were when the call began
}

type span struct {
	what     string
	from, to int64
	writable bool
}

// add plans a buffer; its memory comes later.
func (s *stage) add(what string, t ir.Type, size int64, writable bool) lower.Buffer {
	from := lower.RoundUp(s.end+guard, guard)
	s.end = from + size
	s.spans = append(s.spans, span{what, from, s.end, writable})
	return lower.Buffer{Off: from, Len: size, Type: t, Factor: 1}
}

// open allocates the memory and fills it with canaries.
func (s *stage) open(c lower.Compiled) error {
	total := lower.RoundUp(s.end+guard, guard)
	m, err := c.Alloc(total, guard)
	if err != nil {
		return err
	}
	s.mem = m
	if n := int64(len(m.Bytes())); n < total {
		return fmt.Errorf("Alloc of %d bytes returned %d", total, n)
	}
	for i, b := range m.Bytes()[:total] {
		if b != 0 {
			return fmt.Errorf("Alloc: byte %d is %d, want memory to be zeroed", i, b)
		}
		m.Bytes()[i] = canary
	}
	return nil
}

// canary repeated is a NaN in every float type and no row, id or bound.
const canary = 0xff

// start notes what the memory holds.
func (s *stage) start() { s.before = bytes.Clone(s.mem.Bytes()) }

// intact reports the first byte that changed and that no call may change.
func (s *stage) intact() error {
	at, now := int64(0), s.mem.Bytes()
	for _, p := range append(s.spans, span{what: "the end", from: int64(len(now)), to: int64(len(now)), writable: true}) {
		if err := s.same("memory before "+p.what, at, p.from); err != nil {
			return err
		}
		if !p.writable {
			if err := s.same(p.what+", which is only read", p.from, p.to); err != nil {
				return err
			}
		}
		at = p.to
	}
	return nil
}

func (s *stage) same(what string, from, to int64) error {
	was, is := s.before[from:to], s.mem.Bytes()[from:to]
	for i := range was {
		if was[i] != is[i] {
			return fmt.Errorf("%s: byte %d of %d was %#x and is %#x", what, i, to-from, was[i], is[i])
		}
	}
	return nil
}
