package pager

import (
	"errors"
	"time"
)

// stop ends the pass with err, unless it has ended.
func (s *Pass) stop(err error) {
	if s.err == nil {
		s.err = err
	}
	s.work.Broadcast()
	s.signal()
}

// Close ends the pass, waits for the reads in flight and returns what it cost. Groups and spans still held are no longer
// the caller's. Where a read hangs for longer than Config.Grace, Close returns ErrStalled, with the record's name: the
// arena's memory must then not be freed before Done. A second Close waits again.
func (s *Pass) Close() (Stats, error) {
	s.end()
	s.cancel()
	grace := time.NewTimer(s.p.c.Grace)
	defer grace.Stop()
	select {
	case <-s.done:
	case <-grace.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum(), s.stalled()
}

// end stops the pass and gives up what waits to be taken. Once it has been called the cells may be another pass's, but
// for those that a reader of this one still fills.
func (s *Pass) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.stop(ErrClosed)
	s.err, s.closed = ErrClosed, true
	all := func(*cell) bool { return true }
	s.dropIf(true, all)
	s.dropIf(false, all)
	s.check()
}

// Done is closed once the pass is over and no read of it touches the arena any more.
func (s *Pass) Done() <-chan struct{} { return s.done }

// stalled names a read that has not returned, if a reader still runs.
func (s *Pass) stalled() error {
	if s.running == 0 {
		return nil
	}
	for _, cells := range [][]cell{s.arena.slots, s.arena.banks} {
		for i := range cells {
			if cells[i].state == Filling {
				return s.p.errorAt(cells[i].run, ErrStalled)
			}
		}
	}
	for _, pin := range s.p.c.Pins {
		if pin.cell.state == Filling {
			return s.p.errorAt(pin.cell.run, ErrStalled)
		}
	}
	return ErrStalled
}

// over tells why the arena cannot be given to another pass yet.
func (s *Pass) over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		return errors.New("the arena's last pass is open: close it first")
	}
	return s.stalled()
}
