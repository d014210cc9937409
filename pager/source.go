package pager

import "context"

// A Source is a ranged read: a file, a peer's memory, an object store. Its methods are safe for concurrent use.
type Source interface {
	// ReadAt fills all of p from offset off, or returns an error; p's bytes are then undefined. When it has returned it
	// no longer writes to p, whatever became of ctx. A range past the end is ErrTruncated and is not tried again.
	ReadAt(ctx context.Context, p []byte, off int64) error
	// Size is the length in bytes.
	Size() int64
	// Align is the multiple at which offset, length and address of a read should stand, 1 where any will do. A read off
	// it is slower or refused, never wrong.
	Align() int64
	// Name is the file's, for errors.
	Name() string
	Close() error
}

// Note returns what a source has to tell the user of how it reads, such as why a File is not read directly: the result
// of its method Note, which a source that embeds another one shares. Empty: nothing.
func Note(s Source) string {
	if n, ok := s.(interface{ Note() string }); ok {
		return n.Note()
	}
	return ""
}
