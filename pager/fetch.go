package pager

import (
	"context"
	"fmt"
)

// Fetch reads a record of the dense file that stands in no stage, such as a block of the embedding table, into mem,
// which has room for its length rounded up to the source's alignment. It is retried, checked, counted and traced as the
// readers' records are, as stage -1. It returns when ctx is done even if the read hangs: mem may be written to until
// Done, as the arena may.
func (s *Pass) Fetch(ctx context.Context, rec Record, mem []byte) error {
	return s.aside(ctx, rec, mem, true)
}

// Peek is Fetch of part of a record, for what no result depends on: it is not compared with a checksum.
func (s *Pass) Peek(ctx context.Context, rec Record, mem []byte) error {
	return s.aside(ctx, rec, mem, false)
}

func (s *Pass) aside(ctx context.Context, rec Record, mem []byte, check bool) error {
	s.mu.Lock()
	err := s.err
	if err == nil {
		s.running++
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	fetched := make(chan error, 1)
	go func() {
		fetched <- s.fetchRecord(ctx, rec, mem, check)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended()
	}()
	select {
	case err := <-fetched:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Pass) fetchRecord(ctx context.Context, rec Record, mem []byte, check bool) error {
	src, r := s.p.c.Dense, run{stage: -1, dense: true}
	align := src.Align()
	n := min((rec.Len+align-1)/align*align, src.Size()-rec.Off)
	fail := func(err error) error { return &RecordError{File: src.Name(), Record: rec.Name, Off: rec.Off, Err: err} }
	if rec.Off < 0 || rec.Len > n {
		return fail(ErrTruncated)
	}
	if n > int64(len(mem)) {
		return fail(fmt.Errorf("%d bytes of memory for the %d to be read", len(mem), n))
	}
	mem = mem[:n]
	err := s.read(ctx, r, mem, rec.Off)
	if err == nil && check {
		err = s.verify(ctx, r, rec, mem)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}
