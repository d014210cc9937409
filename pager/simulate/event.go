package simulate

import (
	"fmt"
	"strings"
	"time"
)

// A Kind says what an Event tells of.
type Kind uint8

const (
	ReadBegin    Kind = iota // a reader, or the consumer's fetch, begins a read
	ReadEnd                  // it has ended
	Drop                     // a cell is given up, because nobody wants its records
	Take                     // the consumer is handed records
	Release                  // it gives them back
	ComputeBegin             // it computes on them
	ComputeEnd
	WaitBegin // it waits for a read
	WaitEnd
)

func (k Kind) String() string {
	if k > WaitEnd {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [...]string{"read", "read ends", "drop", "take", "release", "compute", "compute ends", "wait", "wait ends"}[k]
}

// A Span is records of a stage that stand together; those of stage -1 are fetched by the consumer. One of no records is
// the stage as a whole.
type Span struct {
	Stage        int
	Dense        bool // dense records, else experts; of dense ones First counts on through the repeats of the head
	First, Count int
	Bytes        int64 // in the file
}

// An Event is something that happens in a pass.
type Event struct {
	At   time.Duration
	Kind Kind
	Span
	Cells string // what each cell does then: dense slots, then banks; see String
}

// String is a line: when, what each cell does (. available, F filling, x filling and dropped, R ready, U in use; what is
// pinned is in none), and what happens.
func (e Event) String() string {
	what := "experts"
	if e.Dense {
		what = "dense"
	}
	switch {
	case e.Count == 0 && e.Stage < 0:
		what = "embeddings"
	case e.Count == 0:
		what = "layer"
	case e.Count == 1:
		what = fmt.Sprintf("%s %d", what, e.First)
	default:
		what = fmt.Sprintf("%s %d-%d", what, e.First, e.First+e.Count-1)
	}
	return fmt.Sprintf("%9v %s %d %s %s", e.At, e.Cells, e.Stage, what, e.Kind)
}

func (p *pass) trace(k Kind, r Span) {
	if p.c.Trace == nil {
		return
	}
	var s strings.Builder
	for i, cells := range [][]cell{p.slots, p.banks} {
		if i > 0 {
			s.WriteByte('|')
		}
		for _, c := range cells {
			mark := ".FRU"[c.state]
			if c.dropped {
				mark = 'x'
			}
			s.WriteByte(mark)
		}
	}
	p.c.Trace(Event{p.now, k, r, s.String()})
}
