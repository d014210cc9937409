package pager

import (
	"context"
	"time"
)

// await blocks until the next cell of a kind is Ready and hands it over; nil without an error is the end of the stage.
func (s *Pass) await(ctx context.Context, dense bool) (*cell, error) {
	c, wait, err := s.coming(ctx, dense)
	if wait {
		begun := time.Now()
		for wait {
			s.pause(ctx)
			c, wait, err = s.coming(ctx, dense)
		}
		s.waited(begun, dense, c)
	}
	if c == nil || err != nil {
		return nil, err
	}
	if c.err != nil {
		s.stop(c.err)
		return nil, c.err
	}
	c.move(Ready, InUse)
	if c.pin != nil {
		c.use++ // a pin is used more than once after it is filled
	}
	return c, nil
}

// coming finds the cell to hand over next; nil is the end of the stage, unless it is to wait for.
func (s *Pass) coming(ctx context.Context, dense bool) (c *cell, wait bool, err error) {
	if s.err != nil {
		return nil, false, s.err
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	s.upcoming() // past pins, though every reader may be busy or asleep
	next := s.taken
	if !dense {
		if next = s.nextWanted(s.passed); next == len(s.wanted) {
			return nil, false, nil
		}
	}
	c = s.holding(s.stage, next, dense)
	switch {
	case c != nil && c.state == InUse: // a pin
		return nil, false, ErrHeld
	case c != nil && c.state != Available:
		return c, c.state == Filling, nil
	case c == nil && s.arena.held(dense):
		return nil, false, ErrHeld
	case c == nil:
		s.makeRoom(dense)
	}
	s.asked = true
	s.work.Broadcast()
	return nil, true, nil
}

// holding is the cell in which a record waits to be taken, or the one of its pin; nil: none.
func (s *Pass) holding(stage, i int, dense bool) *cell {
	if pin := s.p.pinOf(run{stage: stage, first: i, dense: dense}); pin != nil {
		return &pin.cell
	}
	cells := s.arena.cells(dense)
	for j := range cells {
		if c := &cells[j]; c.waits(stage) && c.first <= i && i < c.first+c.count {
			return c
		}
	}
	return nil
}

// makeRoom gives up the last of the cells that wait, to be read again, where what the consumer waits for has none to come
// to: it holds on to some, and guesses have the rest.
func (s *Pass) makeRoom(dense bool) {
	var last *cell
	cells := s.arena.cells(dense)
	for i := range cells {
		c := &cells[i]
		if c.state == Available || c.dropped {
			return
		}
		if c.waits(s.stage) && (last == nil || c.first > last.first) {
			last = c
		}
	}
	if last != nil {
		s.drop(last)
	}
}

// pause lets go of the lock until a reader or the end of the pass or of ctx asks to look again.
func (s *Pass) pause(ctx context.Context) {
	s.mu.Unlock()
	select {
	case <-s.wake:
	case <-ctx.Done():
	}
	s.mu.Lock()
}

func (s *Pass) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
