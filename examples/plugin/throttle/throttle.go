// Package throttle is a source of weights that is no faster than a given rate: what
// a machine with slower flash would wait for.
package throttle

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"estream/pager"
)

// A Throttle is the bandwidth that the files it opens share. Its zero value has not
// been used.
type Throttle struct {
	mu   sync.Mutex
	free time.Time // when the bytes asked for so far will have passed
}

// Open opens the file at path, to be read at rate, in MiB a second.
func (t *Throttle) Open(rate, path string) (pager.Source, error) {
	r, err := strconv.ParseFloat(rate, 64)
	if err != nil || !(r >= 0.001) || math.IsInf(r, 0) {
		return nil, fmt.Errorf("throttle=%s: want MiB a second, as in throttle=40", rate)
	}
	f, err := pager.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &source{f, t, r * (1 << 20)}, nil
}

// source has a File's size, alignment, name and note.
type source struct {
	*pager.File
	throttle *Throttle
	rate     float64 // bytes a second
}

// ReadAt implements pager.Source. It takes as long as the rate says, or as the file
// does, whichever is longer.
func (s *source) ReadAt(ctx context.Context, p []byte, off int64) error {
	due := s.throttle.pass(time.Duration(float64(len(p)) / s.rate * float64(time.Second)))
	if err := s.File.ReadAt(ctx, p, off); err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass returns when a read that keeps the medium busy for so long will be through.
func (t *Throttle) pass(busy time.Duration) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.free.Before(now) {
		t.free = now
	}
	t.free = t.free.Add(busy)
	return t.free
}
