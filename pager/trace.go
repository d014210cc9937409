package pager

import (
	"fmt"
	"time"
)

// A Kind says what an Event tells of.
type Kind uint8

const (
	Read Kind = iota // one call of Source.ReadAt, failed ones and retries too
	Wait             // the consumer was blocked in Dense or Next
	Drop             // a cell was given up, read or being read, because nobody wanted its records
)

func (k Kind) String() string {
	switch k {
	case Read:
		return "read"
	case Wait:
		return "wait"
	case Drop:
		return "drop"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Event is something that took time or bytes, for timelines, profiles and energy. A Wait has no Bytes, and no Count
// where it ended without a record.
type Event struct {
	Kind         Kind
	Stage        int
	Dense        bool // dense records, else experts
	First, Count int  // records of the stage
	Bytes        int64
	Start, End   time.Time
	Err          error // of a Read that failed
}

// Stats sums up a pass. Bytes = Wasted + what was handed over and wanted + records read once more for their checksum.
type Stats struct {
	Bytes   int64         // read without error
	Wasted  int64         // read of records that nobody wanted, padding too
	Reads   int           // calls of Source.ReadAt
	Retries int           // those among them that read the same bytes again
	Dropped int           // cells given up
	Busy    time.Duration // with at least one read in flight
	Wait    time.Duration // the consumer was blocked
}

func (s *Pass) trace(k Kind, r run, bytes int64, start, end time.Time, err error) {
	if s.p.c.Trace == nil {
		return
	}
	if r.dense && r.count > 0 {
		r.first %= len(s.stages[r.stage].Dense)
	}
	s.p.c.Trace(Event{k, r.stage, r.dense, r.first, r.count, bytes, start, end, err})
}

// waited counts the time that the consumer was blocked for a cell, nil where it got none.
func (s *Pass) waited(begun time.Time, dense bool, c *cell) {
	r := run{stage: s.stage, dense: dense}
	if c != nil {
		r = c.run
	}
	end := time.Now()
	s.stats.Wait += end.Sub(begun)
	s.trace(Wait, r, 0, begun, end, nil)
}

func (s *Pass) dropped(r run) {
	s.stats.Dropped++
	_, n := s.p.span(r)
	now := time.Now()
	s.trace(Drop, r, n, now, now, nil)
}

// sum is the cost so far.
func (s *Pass) sum() Stats {
	st := s.stats
	if s.inFlight > 0 {
		st.Busy += time.Since(s.since)
	}
	return st
}
