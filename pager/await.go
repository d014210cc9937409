package pager

import (
	"context"
	"time"
)

// await blocks until the next cell of a kind is Ready and hands it over; nil without an error is the end of the stage.
func (s *Pass) await(ctx context.Context, dense bool) (*cell, error) {
	c, wait, err := s.due(ctx, dense)
	if wait {
		begun := time.Now()
		for wait {
			s.pause(ctx)
			c, wait, err = s.due(ctx, dense)
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

// due finds the cell to hand over next; nil is the end of the stage, unless it is to wait for.
func (s *Pass) due(ctx context.Context, dense bool) (c *cell, wait bool, err error) {
	if s.err != nil {
		return nil, false, s.err
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	s.upcoming() // past pins, though every reader may be busy or asleep
	if c = s.duePin(dense); c == nil {
		c = s.lowest(dense)
	}
	switch {
	case c != nil && c.pin != nil && c.state == InUse:
		return nil, false, ErrHeld
	case c != nil && c.pin != nil && c.state == Available:
	case c != nil:
		return c, c.state == Filling, nil
	case !dense && (s.at.stage > s.stage || s.nextWanted(s.at.expert) == len(s.wanted)):
		return nil, false, nil
	case s.arena.held(dense):
		return nil, false, ErrHeld
	}
	s.asked = true
	s.work.Broadcast()
	return nil, true, nil
}

// lowest is the first cell of the stage, in issue order, that waits to be taken.
func (s *Pass) lowest(dense bool) *cell {
	var low *cell
	cells := s.arena.cells(dense)
	for i := range cells {
		if c := &cells[i]; c.waits(s.stage) && (low == nil || c.first < low.first) {
			low = c
		}
	}
	return low
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
