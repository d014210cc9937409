package pager

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"estream/pager/crc32c"
)

// reader fills cells until the pass is over. Start begins Config.Readers of them; the last to end closes done.
func (s *Pass) reader(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		c := s.issue()
		if c == nil {
			s.work.Wait()
			continue
		}
		s.work.Signal() // what held this read up may have held up the next one too
		r, mem := c.run, s.arena.memory(c)
		s.mu.Unlock()
		err := s.fetch(ctx, r, mem)
		s.mu.Lock()
		s.finish(c, err)
	}
	s.ended()
}

// ended counts one of the pass's readers out; the last closes done.
func (s *Pass) ended() {
	if s.running--; s.running == 0 {
		close(s.done)
	}
}

// finish makes a filled cell Ready, or free where it was dropped in the meantime.
func (s *Pass) finish(c *cell, err error) {
	if c.dropped {
		if err == nil {
			_, n := s.p.span(c.run)
			s.stats.Wasted += n
		}
		c.free()
	} else {
		c.ready(err)
		s.signal()
	}
	s.check()
}

// fetch reads a run into a cell's memory and checks each record.
func (s *Pass) fetch(ctx context.Context, r run, mem []byte) error {
	off, n := s.p.span(r)
	if err := s.read(ctx, r, mem[:n], off); err != nil {
		return s.p.errorAt(r, err)
	}
	for i := range r.count {
		one := run{stage: r.stage, first: r.first + i, count: 1, dense: r.dense}
		_, n := s.p.span(one)
		if err := s.verify(ctx, one, s.p.record(one), mem[int64(i)*s.p.strides[r.stage]:][:n]); err != nil {
			return s.p.errorAt(one, err)
		}
	}
	return nil
}

// verify compares a record, read into mem, with its checksum, where that is due; one that differs is read once more.
func (s *Pass) verify(ctx context.Context, one run, rec Record, mem []byte) error {
	checks := s.p.c.Checks
	if !checks.due(one.dense, rec.Off) {
		return nil
	}
	if crc32c.Checksum(mem[:rec.Len]) == rec.CRC {
		checks.passed(one.dense, rec.Off)
		return nil
	}
	if err := s.attempt(ctx, one, mem, rec.Off, true); err != nil {
		return err
	}
	if got := crc32c.Checksum(mem[:rec.Len]); got != rec.CRC {
		return fmt.Errorf("CRC-32C %08x was written, %08x read twice: %w", rec.CRC, got, ErrChecksum)
	}
	checks.passed(one.dense, rec.Off)
	return nil
}

// read tries until it succeeds, fails for good, or has used up its retries.
func (s *Pass) read(ctx context.Context, r run, p []byte, off int64) error {
	pause := s.p.c.Pause
	for try := 0; ; try++ {
		err := s.attempt(ctx, r, p, off, try > 0)
		if err == nil || try == s.p.c.Retries || !transient(err) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

// attempt is one read of the source, counted and traced.
func (s *Pass) attempt(ctx context.Context, r run, p []byte, off int64, retry bool) error {
	start := s.begin()
	err := readAt(ctx, s.p.source(r.dense), p, off)
	s.mu.Lock()
	defer s.mu.Unlock()
	end := time.Now()
	if s.inFlight--; s.inFlight == 0 {
		s.stats.Busy += end.Sub(s.since)
	}
	s.stats.Reads++
	if retry {
		s.stats.Retries++
	}
	if err == nil {
		s.stats.Bytes += int64(len(p))
	}
	s.trace(Read, r, int64(len(p)), start, end, err)
	return err
}

// readAt is src.ReadAt; a panic of a source from outside is an error of the read.
func readAt(ctx context.Context, src Source, p []byte, off int64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the source panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return src.ReadAt(ctx, p, off)
}

func (s *Pass) begin() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.inFlight == 0 {
		s.since = now
	}
	s.inFlight++
	return now
}
