//go:build unix

package cli

import (
	"context"
	"os"
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

// TestOutputNotPlaced: what cannot be put in its place is kept, and the error says where.
func TestOutputNotPlaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	o, err := newOutput(t.Context(), "output", path)
	require.NoError(t, err)
	name := o.f.Name()
	_, err = o.f.WriteString("text")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(path, 0o700))
	require.ErrorContains(t, o.finish(), "what was written is in "+name+": ")
	o.discard()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}
