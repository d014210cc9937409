package pager

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// A Rate is the bandwidth that the sources limited by it share: a token bucket. Reads stand in line for it in the order in
// which they come, as they do for a disk's channel, so that readers who ask for equal pieces get equal shares and nobody
// waits for more than what was asked for before.
type Rate struct {
	bytes float64       // a second
	burst time.Duration // that idle time earns at most

	mu   sync.Mutex
	free time.Time // when the bytes asked for so far will have passed

	timers sync.Pool // of *time.Timer
}

// NewRate is a rate in bytes a second, and the bytes that may pass at once after an idle time; they also make up for timers
// that fire late. burst 0 is what passes in 5 ms, so that no second has more than 0.5 % too much.
func NewRate(bytes float64, burst int64) (*Rate, error) {
	if !(bytes >= 1) || math.IsInf(bytes, 0) || burst < 0 {
		return nil, fmt.Errorf("a rate of %v bytes a second with a burst of %d: want at least 1, and 0", bytes, burst)
	}
	r := &Rate{bytes: bytes, burst: 5 * time.Millisecond, timers: sync.Pool{New: func() any { return time.NewTimer(0) }}}
	if burst > 0 {
		r.burst = r.takes(burst)
	}
	return r, nil
}

// takes is how long bytes take to pass.
func (r *Rate) takes(n int64) time.Duration {
	return time.Duration(min(float64(n)/r.bytes*1e9, math.MaxInt64/4))
}

// pass takes n bytes out of the bucket and returns when they will have passed.
func (r *Rate) pass(n int64) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if full := time.Now().Add(-r.burst); r.free.Before(full) {
		r.free = full
	}
	r.free = r.free.Add(r.takes(n))
	return r.free
}

// Limit is src read no faster than r lets its bytes pass: a read takes as long as the rate says, or as src does, whichever
// is longer. All else is src's. What a read that fails or is cancelled asked for counts as passed.
func Limit(src Source, r *Rate) Source { return &limited{src, r} }

type limited struct {
	Source
	rate *Rate
}

func (l *limited) ReadAt(ctx context.Context, p []byte, off int64) error {
	due := l.rate.pass(int64(len(p)))
	if err := l.Source.ReadAt(ctx, p, off); err != nil {
		return err
	}
	left := time.Until(due)
	if left <= 0 {
		return nil
	}
	timer := l.rate.timers.Get().(*time.Timer)
	defer l.rate.timers.Put(timer)
	timer.Reset(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *limited) Note() string { return Note(l.Source) }
