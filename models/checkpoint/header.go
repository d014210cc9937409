package checkpoint

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	maxHeader = 100_000_000 // bytes, by the format
	maxRank   = 64          // more than tensor libraries have; bounds the memory of a shape
)

// An entry is a tensor and where its data is: bytes [begin, end) of the file once parseHeader has returned.
type entry struct {
	Tensor
	begin, end int64
}

// parseHeader reads the header of a safetensors file of size bytes, and checks that the file has exactly what it
// describes. Entries are in the order of their data. A broken rule is a *FormatError.
func parseHeader(file string, r io.ReaderAt, size int64) ([]entry, error) {
	text, err := headerText(file, r, size)
	if err != nil {
		return nil, err
	}
	w := newWalker(file, text)
	entries, err := w.entries()
	if err != nil {
		return nil, err
	}
	if err := w.place(entries, int64(8+len(text)), size); err != nil {
		return nil, err
	}
	return entries, nil
}

// headerText reads the JSON of the header once its length is known to be in the file.
func headerText(file string, r io.ReaderAt, size int64) ([]byte, error) {
	w := walker{file: file}
	if size < 8 {
		return nil, w.cut(size, 8, "at least ")
	}
	var prefix [8]byte
	if err := ReadAt(r, prefix[:], 0); err != nil {
		return nil, fmt.Errorf("%s: header: %w", file, err)
	}
	if string(prefix[:]) == "version " {
		return nil, w.fail(RuleCut, "%d bytes, a Git LFS pointer instead of the file; run git lfs pull", size)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxHeader {
		return nil, w.fail(RuleLength, "%d bytes, want at most %d", n, maxHeader)
	}
	if due := int64(n) + 8; size < due {
		return nil, w.cut(size, due, "at least ")
	}
	text := make([]byte, n)
	if err := ReadAt(r, text, 8); err != nil {
		return nil, fmt.Errorf("%s: header: %w", file, err)
	}
	return text, nil
}

func (w *walker) cut(size, due int64, atLeast string) error {
	return w.fail(RuleCut, "%d bytes, want %s%d: incomplete download or copy", size, atLeast, due)
}

// entries reads the tensors of a header, each checked by itself.
func (w *walker) entries() ([]entry, error) {
	var entries []entry
	err := w.document(func(key string) error {
		if key == "__metadata__" {
			return w.metadata()
		}
		w.tensor = key
		e, err := w.entry()
		if err != nil {
			return err
		}
		entries = append(entries, e)
		w.tensor = ""
		return nil
	})
	return entries, err
}

func (w *walker) metadata() error {
	return w.object("__metadata__", func(key string) error {
		t, err := w.token()
		if err != nil {
			return err
		}
		if _, ok := t.(string); !ok {
			return w.fail(RuleMeta, "%.80q is %s, want a string", key, describe(t))
		}
		return nil
	})
}

func (w *walker) entry() (entry, error) {
	e := entry{Tensor: Tensor{Name: w.tensor}}
	fields := 0
	err := w.object("the value", func(key string) (err error) {
		fields++
		switch key {
		case "dtype":
			e.DType, err = w.dtype()
		case "shape":
			e.Shape, err = w.shape()
		case "data_offsets":
			e.begin, e.end, err = w.offsets()
		default:
			err = w.fail(RuleField, "%.80q is unknown", key)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	if fields != 3 { // none twice and none unknown, so three are all
		return e, w.fail(RuleField, "%d of dtype, shape and data_offsets", fields)
	}
	e.Bytes = e.end - e.begin
	return e, w.measure(e.Tensor)
}

func (w *walker) dtype() (DType, error) {
	s, err := w.string("dtype")
	if err == nil && DType(s).Bits() == 0 {
		err = w.fail(RuleDType, "%.80q is unknown", s)
	}
	return DType(s), err
}

func (w *walker) shape() ([]int, error) {
	shape := []int{}
	err := w.array("shape", func() error {
		if len(shape) == maxRank {
			return w.fail(RuleShape, "more than %d dims", maxRank)
		}
		v, err := w.number("a dim")
		if err == nil && v > math.MaxInt {
			err = w.fail(RuleShape, "dim %d overflows", v)
		}
		shape = append(shape, int(v))
		return err
	})
	return shape, err
}

func (w *walker) offsets() (begin, end int64, err error) {
	var at []int64
	err = w.array("data_offsets", func() error {
		if len(at) == 2 {
			return w.fail(RuleOffsets, "more than two")
		}
		v, err := w.number("an offset")
		at = append(at, v)
		return err
	})
	switch {
	case err != nil:
		return 0, 0, err
	case len(at) != 2:
		return 0, 0, w.fail(RuleOffsets, "%d, want two", len(at))
	case at[0] > at[1]:
		return 0, 0, w.fail(RuleOffsets, "begin %d is after end %d", at[0], at[1])
	}
	return at[0], at[1], nil
}

// measure checks that type and shape make up the bytes of t.
func (w *walker) measure(t Tensor) error {
	n, ok := elements(t.Shape)
	width := int64(t.DType.Bits())
	if !ok || n > math.MaxInt64/width {
		return w.fail(RuleShape, "%s %v overflows", t.DType, t.Shape)
	}
	if n*width%8 != 0 {
		return w.fail(RuleShape, "%s %v is not whole bytes", t.DType, t.Shape)
	}
	if due := n * width / 8; t.Bytes != due {
		return w.fail(RuleShape, "%s %v is %d bytes, its offsets span %d", t.DType, t.Shape, due, t.Bytes)
	}
	return nil
}

// place sorts entries by their data, checks that they fill the bytes from data to size one after another, and makes
// their offsets those of the file.
func (w *walker) place(entries []entry, data, size int64) error {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name))
	})
	var at int64
	for _, e := range entries {
		w.tensor = e.Name
		if e.begin > at {
			return w.fail(RuleHole, "begins at %d, want %d", e.begin, at)
		}
		if e.begin < at {
			return w.fail(RuleOverlap, "begins at %d, want %d", e.begin, at)
		}
		at = e.end
	}
	w.tensor = ""
	if at > math.MaxInt64-data {
		return w.fail(RuleOffsets, "data ends at %d, which overflows", at)
	}
	if due := data + at; size < due {
		return w.cut(size, due, "")
	} else if size > due {
		return w.fail(RuleExcess, "%d bytes, want %d", size, due)
	}
	for i := range entries {
		entries[i].begin += data
		entries[i].end += data
	}
	return nil
}
