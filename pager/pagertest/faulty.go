package pagertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"estream/pager"
)

// A Kind is what goes wrong with a read.
type Kind uint8

const (
	EIO       Kind = iota // an input/output error
	Short                 // half of the bytes, then io.ErrUnexpectedEOF
	Flip                  // one bit is wrong, without an error
	Truncated             // the file ends before the range
	Removed               // the file is gone
	Stall                 // nothing until ctx is done
	Hang                  // nothing until Faulty.Resume, whatever ctx says, then the bytes
	Slow                  // the bytes, after Delay
)

// A Fault goes wrong with some reads: those from number Read on, or those that cover the byte at Off.
type Fault struct {
	Kind  Kind
	Read  int           // counted from 0 in order of arrival; -1 goes by Off
	Off   int64         // of Flip, also the byte; with Read it is the middle one
	Times int           // how many reads it fires on: 0 is 1, negative is all
	Delay time.Duration // of Slow
}

// A Range is one read.
type Range struct {
	Off, Len int64
}

// A Faulty is a Source over another one that fails by a script. It keeps a log of reads.
type Faulty struct {
	pager.Source
	resume func()
	hung   chan struct{}

	mu     sync.Mutex
	faults []Fault
	reads  []Range
}

// NewFaulty wraps src. The first fault of the script that fires on a read decides it.
func NewFaulty(src pager.Source, script ...Fault) *Faulty {
	hung := make(chan struct{})
	f := &Faulty{Source: src, hung: hung, resume: sync.OnceFunc(func() { close(hung) })}
	for _, x := range script {
		if x.Times == 0 {
			x.Times = 1
		}
		f.faults = append(f.faults, x)
	}
	return f
}

// Reads is the log, in order of arrival.
func (f *Faulty) Reads() []Range {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Range(nil), f.reads...)
}

// Resume lets the reads go on that hang, and those that would.
func (f *Faulty) Resume() { f.resume() }

// ReadAt implements pager.Source.
func (f *Faulty) ReadAt(ctx context.Context, p []byte, off int64) error {
	x, ok := f.arrive(Range{off, int64(len(p))})
	if !ok {
		return f.Source.ReadAt(ctx, p, off)
	}
	fail := func(err error) error {
		return fmt.Errorf("%s: %d bytes at offset %d: %w", f.Name(), len(p), off, err)
	}
	switch x.Kind {
	case EIO:
		return fail(syscall.EIO)
	case Truncated:
		return fail(pager.ErrTruncated)
	case Removed:
		return fail(syscall.ENOENT)
	case Short:
		half := int64(len(p)) / 2 / f.Align() * f.Align()
		return errors.Join(f.Source.ReadAt(ctx, p[:half], off), fail(io.ErrUnexpectedEOF))
	case Stall:
		<-ctx.Done()
		return context.Cause(ctx)
	case Hang:
		<-f.hung
		ctx = context.WithoutCancel(ctx)
	case Slow:
		select {
		case <-time.After(x.Delay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := f.Source.ReadAt(ctx, p, off)
	if x.Kind == Flip && err == nil {
		at := int64(len(p)) / 2
		if x.Read < 0 {
			at = x.Off - off
		}
		p[at] ^= 1
	}
	return err
}

// arrive logs a read and finds the fault that fires on it.
func (f *Faulty) arrive(r Range) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.reads)
	f.reads = append(f.reads, r)
	for i := range f.faults {
		x := &f.faults[i]
		hit := n >= x.Read
		if x.Read < 0 {
			hit = x.Off >= r.Off && x.Off < r.Off+r.Len
		}
		if hit && x.Times != 0 {
			x.Times--
			return *x, true
		}
	}
	return Fault{}, false
}
