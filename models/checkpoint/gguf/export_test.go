package gguf

import (
	"bytes"

	"estream/models/checkpoint"
)

// memory is a file that needs no closing.
type memory struct{ *bytes.Reader }

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
