package gguf

import (
	"bytes"
	"cmp"
	"context"

	"estream/models/checkpoint"
)

// memory is a file that needs no closing.
type memory struct{ *bytes.Reader }

func (m memory) Range(ctx context.Context, buf *checkpoint.Buffer, at int64, n int) ([]byte, error) {
	return buf[:n], cmp.Or(ctx.Err(), checkpoint.ReadAt(m, buf[:n], at))
}

func (memory) Close() error { return nil }

// OpenBytes opens one file.
func OpenBytes(data []byte) (checkpoint.Checkpoint, error) {
	m := newModel()
	if err := m.take(&file{path: "x.gguf", f: memory{bytes.NewReader(data)}, size: int64(len(data))}); err != nil {
		return nil, err
	}
	m.joinLatents()
	return m, nil
}
