package pager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Pass is one walk over all stages. Its methods are called by one goroutine, the consumer; Release, ReleaseDense and
// Done by any. The first error that a read or the context of Start causes ends the pass: every later call returns it.
type Pass struct {
	p      *Pager
	arena  *Arena
	stages []Stage
	heads  int
	cancel context.CancelFunc // of the readers' context
	wake   chan struct{}      // to the consumer: look again
	done   chan struct{}      // closed by the last reader

	mu      sync.Mutex // guards what follows and the arena's cells
	work    *sync.Cond // to the readers: look again
	running int        // readers that have not ended
	err     error      // set once: the pass is over, the readers end
	closed  bool

	at     cursor // of the readers
	stage  int    // of the consumer
	taken  int    // dense records of the stage handed over
	passed int    // experts before this one were handed over
	routed bool
	wanted []bool // experts of the stage, once routed

	guessed int   // the stage that guess is of; -1: none
	guess   []int // experts that routes are likely to want, the likeliest first

	asked bool // the consumer waits for the record at the cursor

	stats    Stats
	inFlight int
	since    time.Time // that inFlight is above 0
}

// A Span is a dense record in memory, the caller's until ReleaseDense.
type Span struct {
	Pin    *Pin  // in whose memory it lies; nil: the arena's
	Off    int64 // in that memory
	Len    int64 // payload bytes
	Record int   // index in Stage.Dense
	lease
}

// A Group is a run of experts in memory, the caller's until Release: expert First+i lies at Off + i*Stride. At least
// one of them is wanted.
type Group struct {
	Pin          *Pin  // in whose memory it lies; nil: the arena's
	Off          int64 // in that memory
	First, Count int
	Stride       int64
	lease
}

// A lease names one use of a cell.
type lease struct {
	cell *cell
	use  uint64
}

// Dense waits for the next dense record of the stage. It is ErrHeld where the caller holds both slots.
func (s *Pass) Dense(ctx context.Context) (Span, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return Span{}, s.err
	}
	if s.stage >= len(s.stages) || s.taken == s.denseCount(s.stage) {
		return Span{}, fmt.Errorf("pager: stage %d has no dense record %d", s.stage, s.taken)
	}
	c, err := s.await(ctx, true)
	if err != nil {
		return Span{}, err
	}
	s.taken++
	s.check()
	return Span{
		Pin:    c.pin,
		Off:    c.off,
		Len:    s.p.record(c.run).Len,
		Record: c.first % len(s.stages[c.stage].Dense),
		lease:  lease{c, c.use},
	}, nil
}

// Route tells which of the stage's experts have rows. wanted is copied. What nobody wants is dropped.
func (s *Pass) Route(wanted []bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case s.stage >= len(s.stages):
		return errors.New("pager: route after the last stage")
	case s.routed:
		return fmt.Errorf("pager: stage %d is routed already", s.stage)
	case len(wanted) != len(s.stages[s.stage].Experts):
		return fmt.Errorf("pager: stage %d has %d experts, %d were routed", s.stage, len(s.stages[s.stage].Experts), len(wanted))
	}
	s.wanted = append(s.wanted[:0], wanted...)
	s.routed = true
	s.dropIf(false, func(c *cell) bool { return c.stage == s.stage && s.nextWanted(c.first) >= c.first+c.count })
	s.check()
	return nil
}

// Next waits for the next group, in flash order, that holds a wanted expert; false is the end of the stage. The stage's
// dense records have been taken and it has been routed. It is ErrHeld where the caller holds every bank.
func (s *Pass) Next(ctx context.Context) (Group, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return Group{}, false, s.err
	case s.stage >= len(s.stages):
		return Group{}, false, errors.New("pager: next after the last stage")
	case s.taken < s.denseCount(s.stage):
		return Group{}, false, fmt.Errorf("pager: stage %d: dense record %d is not taken", s.stage, s.taken)
	case !s.routed:
		return Group{}, false, fmt.Errorf("pager: stage %d is not routed", s.stage)
	}
	c, err := s.await(ctx, false)
	if c == nil {
		return Group{}, false, err
	}
	s.passed = c.first + c.count
	stride := s.p.strides[c.stage]
	if c.pin == nil {
		s.stats.Wasted += s.unwantedBytes(c.run)
	}
	s.check()
	return Group{Pin: c.pin, Off: c.off, First: c.first, Count: c.count, Stride: stride, lease: lease{c, c.use}}, true, nil
}

// EndStage moves on to the next stage. What was read for this one and not taken is dropped; what is held stays so.
func (s *Pass) EndStage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.stage >= len(s.stages) {
		return
	}
	s.stage++
	s.taken, s.passed, s.routed = 0, 0, false
	if s.at.stage < s.stage {
		s.at = cursor{stage: s.stage}
	}
	passed := func(c *cell) bool { return c.stage < s.stage }
	s.dropIf(true, passed)
	s.dropIf(false, passed)
	s.check()
}

// Release gives a group's bank back. A second release does nothing.
func (s *Pass) Release(g Group) { s.release(g.lease) }

// ReleaseDense gives a dense record's slot back. A second release does nothing.
func (s *Pass) ReleaseDense(d Span) { s.release(d.lease) }

func (s *Pass) release(l lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || l.cell == nil || l.cell.use != l.use || l.cell.state != InUse {
		return
	}
	if l.cell.pin != nil {
		l.cell.move(InUse, Ready)
	} else {
		l.cell.move(InUse, Available)
		s.work.Broadcast()
	}
	s.check()
}

// dropIf gives up the cells of a kind that wait to be taken and that nobody wants, and has the readers look again.
func (s *Pass) dropIf(dense bool, unwanted func(*cell) bool) {
	cells := s.arena.cells(dense)
	for i := range cells {
		c := &cells[i]
		if c.dropped || c.state != Filling && c.state != Ready || !unwanted(c) {
			continue
		}
		s.drop(c)
	}
	s.work.Broadcast()
}

// drop gives up a cell that waits to be taken.
func (s *Pass) drop(c *cell) {
	s.dropped(c.run)
	if c.state == Filling {
		c.dropped = true
		return
	}
	if c.err == nil {
		_, n := s.p.span(c.run)
		s.stats.Wasted += n
	}
	c.free()
}
