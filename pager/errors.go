package pager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrChecksum means that a record twice came with other bytes than were written.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrTruncated means that a file ends before the bytes it should hold.
	ErrTruncated = errors.New("file is truncated")
	// ErrHeld means that the caller holds every cell and asks for one more.
	ErrHeld = errors.New("every cell is in use: release one first")
	// ErrStalled means that a read did not return in time after its pass was closed. Until Pass.Done it may still write
	// to the arena, whose memory must not be freed.
	ErrStalled = errors.New("a read hangs")
	// ErrClosed is what calls on a closed Pass return.
	ErrClosed = errors.New("pass is closed")
)

// A RecordError tells which record could not be had, and why.
type RecordError struct {
	File   string
	Record string
	Off    int64 // in File
	Err    error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%s: %s at offset %d: %v", e.File, e.Record, e.Off, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// transient reports whether a read that failed with err may succeed when tried again. Sources fail in ways this package
// cannot list, so it lists what is final.
func transient(err error) bool {
	for _, final := range []error{ErrTruncated, fs.ErrClosed, fs.ErrNotExist, fs.ErrPermission, context.Canceled} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}
