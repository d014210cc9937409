package gguf

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"estream/models/checkpoint"
)

const (
	magic     = "GGUF"
	maxHeader = 256 << 20 // bytes of metadata and tensor descriptions; real ones have a few MB
	maxName   = 1 << 10   // bytes of a tensor's name; ggml takes 63
	maxKey    = 1<<16 - 1 // bytes of a key, by the format
	maxDims   = 4         // as ggml has
)

// Rules of GGUF beside those that it shares with safetensors.
const (
	RuleMagic     checkpoint.Rule = "magic"
	RuleVersion   checkpoint.Rule = "version"
	RuleValue     checkpoint.Rule = "metadata value"
	RuleAlignment checkpoint.Rule = "alignment" // a power of two
)

// header is what a file says of itself.
type header struct {
	meta    metadata
	entries []entry
}

// entry is a tensor and where in the file its data begins.
type entry struct {
	checkpoint.Tensor
	kind  kind
	begin int64
}

// parseHeader reads the header of a file of size bytes, and checks that the data that it describes is in the file.
func parseHeader(path string, r io.ReaderAt, size int64) (header, error) {
	c := newCursor(path, r, size)
	tensors, pairs, err := c.counts()
	if err != nil {
		return header{}, err
	}
	h := header{meta: metadata{}}
	if err := c.metadata(h.meta, pairs); err != nil {
		return header{}, err
	}
	for range tensors { // as many as the file has room for, else reading one fails
		e, err := c.entry()
		if err != nil {
			return header{}, err
		}
		h.entries = append(h.entries, e)
	}
	return h, c.place(h)
}

// counts reads what every file begins with.
func (c *cursor) counts() (tensors, pairs uint64, err error) {
	begin, err := c.take(4)
	if err != nil {
		return 0, 0, err
	}
	switch string(begin) {
	case magic:
	case "vers":
		return 0, 0, c.fail(checkpoint.RuleCut, "%d bytes, a Git LFS pointer instead of the file; run git lfs pull", c.size)
	default:
		return 0, 0, c.fail(RuleMagic, "begins with %q, want %q", begin, magic)
	}
	version, err := c.u32()
	switch {
	case err != nil:
		return 0, 0, err
	case version != 0 && version&0xffff == 0:
		return 0, 0, c.fail(RuleVersion, "big-endian; convert the model again for little-endian machines")
	case version < 2 || version > 3:
		return 0, 0, c.fail(RuleVersion, "%d, want 2 or 3; convert the model again", version)
	}
	if tensors, err = c.u64(); err != nil {
		return 0, 0, err
	}
	pairs, err = c.u64()
	return tensors, pairs, err
}

// entry reads the description of a tensor, whose begin is its offset yet.
func (c *cursor) entry() (entry, error) {
	var e entry
	name, err := c.string(maxName)
	if err != nil {
		return e, err
	}
	e.Name, c.tensor = name, name
	dims, err := c.u32()
	if err == nil && (dims < 1 || dims > maxDims) {
		err = c.fail(checkpoint.RuleShape, "%d dims, want 1 to %d", dims, maxDims)
	}
	for i := uint32(0); i < dims && err == nil; i++ {
		var n uint64
		if n, err = c.u64(); err == nil && (n < 1 || n > math.MaxInt) {
			err = c.fail(checkpoint.RuleShape, "dim %d is %d", i, n)
		}
		e.Shape = append(e.Shape, int(n))
	}
	if err != nil {
		return e, err
	}
	if err := c.measure(&e); err != nil {
		return e, err
	}
	offset, err := c.u64()
	if err == nil && offset > math.MaxInt64 {
		err = c.fail(checkpoint.RuleOffsets, "%d overflows", offset)
	}
	e.begin = int64(offset)
	slices.Reverse(e.Shape) // the first dim of a file is the innermost
	return e, err
}

// measure reads the type of a tensor, whose innermost dim stands first, and finds out how large it is.
func (c *cursor) measure(e *entry) error {
	id, err := c.u32()
	if err != nil {
		return err
	}
	var known bool
	if e.kind, known = kindOf(id); !known {
		return c.fail(checkpoint.RuleDType, "ggml type %d is unknown", id)
	}
	e.DType = e.kind.name
	if e.kind.decode == nil {
		e.Opaque = "a type that is not read; use a file of " + usual
	}
	if per := e.kind.block; e.Shape[0]%per != 0 {
		return c.fail(checkpoint.RuleShape, "rows of %d are no multiple of the %d that a block of %s has", e.Shape[0], per, e.DType)
	}
	n := uint64(e.kind.bytes)
	for i, d := range e.Shape {
		if i == 0 {
			d /= e.kind.block
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return c.fail(checkpoint.RuleShape, "%s %v overflows", e.DType, e.Shape)
		}
		n = lo
	}
	e.Bytes = int64(n)
	return nil
}

// place checks that tensors follow each other, each at the next multiple of the alignment, and end in the file; it
// makes their offsets those of the file.
func (c *cursor) place(h header) error {
	c.tensor = ""
	align := int64(32)
	if v, stated := h.meta["general.alignment"]; stated {
		n, ok := h.meta.whole("general.alignment")
		if !ok || n < 1 || n&(n-1) != 0 || n > 1<<30 {
			return c.fail(RuleAlignment, "general.alignment is %v, want a power of two", v)
		}
		align = n
	}
	up := func(n int64) int64 { return (n + align - 1) &^ (align - 1) }
	data, at := up(c.at), int64(0)
	for i := range h.entries {
		e := &h.entries[i]
		c.tensor = e.Name
		if e.begin != at {
			return c.fail(checkpoint.RuleOffsets, "begins at %d, want %d", e.begin, at)
		}
		if e.Bytes > math.MaxInt64-align-data-at {
			return c.fail(checkpoint.RuleOffsets, "ends at %d plus %d, which overflows", at, e.Bytes)
		}
		e.begin += data
		at = up(at + e.Bytes)
	}
	c.tensor = ""
	if n := len(h.entries); n > 0 {
		if due := h.entries[n-1].begin + h.entries[n-1].Bytes; c.size < due {
			return c.fail(checkpoint.RuleCut, "%d bytes, want at least %d: incomplete download or copy", c.size, due)
		}
	}
	return nil
}

func (c *cursor) fail(rule checkpoint.Rule, format string, args ...any) error {
	return &checkpoint.FormatError{File: c.path, Tensor: c.tensor, Rule: rule, Detail: fmt.Sprintf(format, args...)}
}
