package cli

import (
	"context"
	"fmt"
	"time"
)

// ending tells, some while after ctx is done, that what is under way cannot be stopped,
// such as a graph that a library runs, and what to do, unless the command has ended by
// then, which ended says.
func (a *App) ending(ctx context.Context) (ended func()) {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() {
		select {
		case <-over:
		case <-time.After(5 * grace):
			fmt.Fprintln(a.Stderr, "ending when what is under way returns; Ctrl-C again ends at once")
		}
	})
	return func() { close(over) }
}
