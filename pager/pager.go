// Package pager brings a model's weights from flash into a fixed arena, behind the computation that uses them.
//
// A Pager knows a model as stages: one a layer, then one for the head. A stage has dense records, which are always
// needed, and expert records, which the router picks from at run time. A Pass walks the stages once for one batch.
// Its readers fill cells of the Arena in issue order (a stage's dense records, its experts in flash order, the next
// stage); its one consumer takes them in the same order. Reads may complete in any order.
//
//	pass, err := p.Start(ctx, 1)
//	for each stage {
//		span, err := pass.Dense(ctx)     // once for each dense record; ReleaseDense when done with it
//		err = pass.Route(wanted)         // which experts have rows; Guess may have named some before
//		g, ok, err := pass.Next(ctx)     // until ok is false; Release when done with the group
//		pass.EndStage()
//	}
//	stats, err := pass.Close()
//
// Memory: the arena is one []byte that the caller allocates (see Pages) and frees. Nothing else grows with the model,
// and taking and releasing a group allocates nothing. The pager writes a cell only while it is Filling, and the caller
// reads it only between taking and releasing it.
//
// Invariants of a pass; the arena's own stand at Arena. Builds with the tag "invariants" check all of them after each
// transition:
//
//	P1 reads are issued in order: what a cell holds stands before the cursor, the next record to issue. Guesses alone
//	   may stand beyond it, in its own stage, not yet taken
//	P2 records are taken in order: of a stage, no cell that waits stands before one already taken
//	P3 at most Readers cells are Filling
//	P4 guesses that wait have all banks but one at most
//
// That is why no pass deadlocks, with a single bank too: the record that the consumer waits for is in a cell, or is the
// very next to get one, by P1 and P2; and there is one for it, by P4. Only a consumer that holds on to groups may have that
// one: then the last of the guesses is given up, to be read again.
package pager

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// A Record is one unit of weights in a file. The file holds Len rounded up to the arena's alignment.
type Record struct {
	Off  int64  // in the file, a multiple of the arena's alignment
	Len  int64  // payload bytes
	CRC  uint32 // CRC-32C of the payload
	Name string // for errors; empty is "stage 3 expert 17"
}

// A Stage is what one step through the model reads: the dense records in order, then the experts that have rows.
// Experts stand one after another in the file at equal stride.
type Stage struct {
	Dense   []Record
	Experts []Record
}

// A Config is all that a Pager needs. The sources and the arena stay the caller's, who closes and frees them after the
// last Pass is closed.
type Config struct {
	Stages   []Stage
	Dense    Source // holds the dense records; nil where no stage has any
	Experts  Source // holds the expert records; nil where no stage has any
	Arena    *Arena
	Pins     []*Pin // records that stay in memory; nil: none do
	Schedule Schedule
	Readers  int     // reads in flight (Q), at least 1
	Checks   *Checks // which records are compared with their CRC; nil: none

	Retries int           // of a read that fails; 0 is 3, negative is none
	Pause   time.Duration // before the first retry, doubled before each further one; 0 is 5 ms
	Grace   time.Duration // that Close gives to reads in flight; 0 is 2 s

	// Trace, where set, is told of each read, wait and drop. Calls of one pass come one at a time, with the pass locked:
	// it must be short and call nothing of the Pass.
	Trace func(Event)
}

// A Pager runs passes over one model, one at a time.
type Pager struct {
	c       Config
	strides []int64     // of each stage's experts, in the file and in a bank
	pins    []stagePins // of each stage
}

// New checks that every record lies inside its file and fits the arena. Errors name the file, record and offset;
// a file that ends too early is ErrTruncated.
func New(c Config) (*Pager, error) {
	c.Retries = max(0, cmp.Or(c.Retries, 3))
	c.Pause = cmp.Or(c.Pause, 5*time.Millisecond)
	c.Grace = cmp.Or(c.Grace, 2*time.Second)
	c.Schedule = cmp.Or(c.Schedule, BeforeRouting)
	p := &Pager{c: c, strides: make([]int64, len(c.Stages))}
	err := p.validate()
	if err == nil {
		err = p.pin()
	}
	if err != nil {
		return nil, fmt.Errorf("pager: %w", err)
	}
	return p, nil
}

// Start begins a pass and its readers, which end when the pass is closed, fails, or ctx is done. The dense records of
// the last stage, the head, come heads times over: once for each chunk of logits rows, never where it is 0.
// An arena serves one pass at a time: Start is an error while another is open, and ErrStalled while a read of a closed
// one still hangs.
func (p *Pager) Start(ctx context.Context, heads int) (*Pass, error) {
	if heads < 0 {
		return nil, fmt.Errorf("pager: head read %d times", heads)
	}
	s := &Pass{
		p:       p,
		arena:   p.c.Arena,
		stages:  p.c.Stages,
		heads:   heads,
		wanted:  make([]bool, 0, p.mostExperts()),
		guess:   make([]int, 0, p.mostExperts()),
		guessed: -1,
		running: p.c.Readers,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	s.work = sync.NewCond(&s.mu)
	if err := s.arena.serve(s); err != nil {
		return nil, fmt.Errorf("pager: %w", err)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop(context.Cause(ctx))
	})
	for range p.c.Readers {
		go s.reader(ctx)
	}
	return s, nil
}

func (p *Pager) mostExperts() int {
	n := 0
	for _, st := range p.c.Stages {
		n = max(n, len(st.Experts))
	}
	return n
}
