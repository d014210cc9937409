package gguf

import (
	"bufio"
	"encoding/binary"
	"io"

	"estream/models/checkpoint"
)

// A cursor reads a header from its start on. It asks for no more than the file has, before it makes room for it.
type cursor struct {
	path   string
	tensor string // for errors: the tensor being read, or ""
	r      io.Reader
	size   int64 // of the file
	at     int64
	small  [8]byte
}

func newCursor(path string, r io.ReaderAt, size int64) *cursor {
	return &cursor{path: path, r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10), size: size}
}

// need checks that n more bytes, as part of a header, can be there.
func (c *cursor) need(n uint64) error {
	switch {
	case n > uint64(c.size-c.at):
		return c.fail(checkpoint.RuleCut, "%d bytes, of which the header needs %d from %d on: incomplete download or copy", c.size, n, c.at)
	case n > uint64(maxHeader-min(c.at, maxHeader)):
		return c.fail(checkpoint.RuleLength, "more than %d bytes of header", maxHeader)
	}
	return nil
}

// take reads n bytes, those of up to 8 into the cursor's own room.
func (c *cursor) take(n uint64) ([]byte, error) {
	if err := c.need(n); err != nil {
		return nil, err
	}
	buf := c.small[:min(n, uint64(len(c.small)))]
	if n > uint64(len(buf)) {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(c.r, buf); err != nil {
		return nil, c.fail(checkpoint.RuleCut, "read of %d bytes at %d: %v", n, c.at, err)
	}
	c.at += int64(n)
	return buf, nil
}

func (c *cursor) u32() (uint32, error) {
	b, err := c.take(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64() (uint64, error) {
	b, err := c.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// string reads a length and a text of at most limit bytes.
func (c *cursor) string(limit uint64) (string, error) {
	n, err := c.u64()
	if err != nil {
		return "", err
	}
	if err := c.need(n); err != nil {
		return "", err
	}
	if n > limit {
		return "", c.fail(checkpoint.RuleLength, "a text of %d bytes at %d, want at most %d", n, c.at, limit)
	}
	b, err := c.take(n)
	return string(b), err
}
