//go:build unix

package cli

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOutputWaits: a pipe that nobody opens to read holds up an output only as long
// as its context.
func TestOutputWaits(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, stop := context.WithCancel(t.Context())
	err := make(chan error, 1)
	go func() {
		_, e := newOutput(ctx, "output", pipe)
		err <- e
	}()
	select {
	case e := <-err:
		t.Fatalf("newOutput of a pipe without a reader returned %v, want it to wait", e)
	case <-time.After(20 * time.Millisecond):
	}
	stop()
	select {
	case e := <-err:
		require.ErrorIs(t, e, context.Canceled)
	case <-time.After(time.Minute):
		t.Fatal("newOutput waits for a reader of the pipe though its context is done")
	}
}
