package cli

import (
	"bytes"
	"io"
)

// A stoppable is a writer whose writes are left as await leaves them, such as to a pipe
// that nobody reads.
type stoppable struct {
	io.Writer
	stop <-chan struct{}
}

func (s stoppable) Write(b []byte) (int, error) {
	b = bytes.Clone(b) // is the caller's again when Write has returned
	return await(s.stop, func() (int, error) { return s.Writer.Write(b) })
}
