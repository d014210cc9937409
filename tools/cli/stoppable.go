package cli

import (
	"bytes"
	"io"
)

// A stoppable is a writer that gives up a blocked write, such as to a pipe nobody reads,
// grace after stop is closed. The write goes on in a goroutine that only ends with the
// program.
type stoppable struct {
	io.Writer
	stop <-chan struct{}
}

func (s stoppable) Write(b []byte) (int, error) {
	b = bytes.Clone(b) // is the caller's again when Write has returned
	return await(s.stop, func() (int, error) { return s.Writer.Write(b) })
}
