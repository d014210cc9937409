package cli

import (
	"context"
	"time"
)

// grace is how long what was asked to end has to clean up.
const grace = 300 * time.Millisecond

// until returns what f computes. Where ctx is done before, f has a moment to notice
// and end, and is then left: what cannot be stopped goes on, to no end, as long as
// the program. So f puts nothing in its place and prints nothing; who calls until
// does, with what it returned.
func until[T any](ctx context.Context, f func() (T, error)) (value T, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	return await(ctx.Done(), f)
}

// await is until on a channel: f begins even if stop is closed.
func await[T any](stop <-chan struct{}, f func() (T, error)) (value T, err error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-stop:
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(grace):
		return value, context.Canceled
	}
}
