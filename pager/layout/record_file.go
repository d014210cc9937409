package layout

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
)

// A recordFile is experts.bin or dense.bin while it is written. Nothing is
// written twice, so writers need no order.
type recordFile struct {
	*os.File
	bounds bounds
	name   func(Record) string

	mu      sync.Mutex
	written map[recordKey]placed
}

type recordKey struct{ layer, index int }

type placed struct {
	offset, length int64
	crc            uint32
}

func newRecordFile(f *os.File, b bounds, name func(Record) string) *recordFile {
	return &recordFile{File: f, bounds: b, name: name, written: map[recordKey]placed{}}
}

// extend gives the file its full length, so that padding is zero without being
// written.
func (f *recordFile) extend() error { return f.Truncate(f.bounds.size) }

func (f *recordFile) write(r Record, payload []byte) error {
	rule := f.bounds.record(r)
	if rule == "" && int64(len(payload)) != r.Length {
		rule = fmt.Sprintf("the payload has %d bytes, not %d", len(payload), r.Length)
	}
	key := recordKey{r.Layer, r.Index}
	if rule == "" && !f.claim(key, placed{r.Offset, r.Length, crc32.Checksum(payload, castagnoli)}) {
		rule = "is written twice"
	}
	if rule != "" {
		return &Error{f.bounds.file, f.name(r), rule}
	}
	if _, err := f.WriteAt(payload, r.Offset); err != nil {
		f.unclaim(key)
		return fmt.Errorf("%s: %w", f.name(r), err)
	}
	return nil
}

func (f *recordFile) claim(key recordKey, p placed) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, twice := f.written[key]
	if !twice {
		f.written[key] = p
	}
	return !twice
}

func (f *recordFile) unclaim(key recordKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.written, key)
}

// fill checks that the records were written, they and no others, and sets their
// checksums.
func (f *recordFile) fill(records []Record) error {
	for i := range records {
		r := &records[i]
		w, ok := f.written[recordKey{r.Layer, r.Index}]
		if !ok {
			return &Error{f.bounds.file, f.name(*r), "was not written"}
		}
		if w.offset != r.Offset || w.length != r.Length {
			rule := fmt.Sprintf("%d bytes were written at offset %d, not %d at %d", w.length, w.offset, r.Length, r.Offset)
			return &Error{f.bounds.file, f.name(*r), rule}
		}
		r.CRC = w.crc
	}
	if n := len(f.written); n > len(records) {
		return &Error{f.bounds.file, "", fmt.Sprintf("%d records were written, the manifest has %d", n, len(records))}
	}
	return nil
}

// finish makes the file durable and closes it.
func (f *recordFile) finish() error { return errors.Join(f.Sync(), f.Close()) }
