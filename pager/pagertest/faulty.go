package pagertest

import (
	"cmp"
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
	kinds                 // how many there are
)

func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [...]string{"eio", "short", "flip", "truncated", "removed", "stall", "hang", "slow"}[k]
}

// Kinds is all of them.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// A Fault goes wrong with some reads: those from number Read on, or those that cover the byte at Off.
type Fault struct {
	Kind  Kind
	Read  int           // counted from 0 in order of arrival; -1 goes by Off
	Off   int64         // of Flip, also the byte; with Read it is the first one
	Bit   int64         // of Flip: so many bits after that byte's lowest, round from the read's end to its start
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
	fired  int
}

// NewFaulty wraps src. The first fault of the script that fires on a read decides it.
func NewFaulty(src pager.Source, script ...Fault) *Faulty {
	hung := make(chan struct{})
	f := &Faulty{Source: src, hung: hung, resume: sync.OnceFunc(func() { close(hung) })}
	f.Set(script...)
	return f
}

// Set replaces the script.
func (f *Faulty) Set(script ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append([]Fault(nil), script...)
	for i := range f.faults {
		f.faults[i].Times = cmp.Or(f.faults[i].Times, 1)
	}
}

// Reads is the log, in order of arrival.
func (f *Faulty) Reads() []Range {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Range(nil), f.reads...)
}

// Fired is on how many reads a fault has fired.
func (f *Faulty) Fired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// Resume lets the reads go on that hang, and those that would.
func (f *Faulty) Resume() { f.resume() }

// Heal ends the script: reads that hang go on, and nothing goes wrong any more.
func (f *Faulty) Heal() {
	f.Set()
	f.resume()
}

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
		x.flip(p, off)
	}
	return err
}

// flip turns one bit of what was read at off.
func (x Fault) flip(p []byte, off int64) {
	bit := x.Bit
	if x.Read < 0 {
		bit += 8 * (x.Off - off)
	}
	bit = int64(uint64(bit) % (8 * uint64(len(p))))
	p[bit/8] ^= 1 << (bit % 8)
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
			f.fired++
			return *x, true
		}
	}
	return Fault{}, false
}
