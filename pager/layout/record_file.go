package layout

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"estream/pager/crc32c"
)

// A recordFile is experts.bin or dense.bin while it is written. Nothing is
// written twice, so writers need no order.
type recordFile struct {
	*os.File
	bounds bounds
	name   func(Record) string

	mu      sync.Mutex
	kept    map[recordKey]placed // by an earlier writer, not yet asked for
	written map[recordKey]placed
}

type recordKey struct{ layer, index int }

type placed struct {
	offset, length int64
	crc            uint32
	factors        []float32
}

func newRecordFile(b bounds, name func(Record) string) *recordFile {
	return &recordFile{bounds: b, name: name, kept: map[recordKey]placed{}, written: map[recordKey]placed{}}
}

// write has p write the record, and returns its entry, or that an earlier writer
// has made it.
func (f *recordFile) write(r Record, p Payload) (e entry, done bool, err error) {
	if rule := f.bounds.record(r); rule != "" {
		return e, false, f.wrong(r, rule)
	}
	key := recordKey{r.Layer, r.Index}
	done, twice := f.claim(key, r)
	switch {
	case twice:
		return e, false, f.wrong(r, "is written twice")
	case done:
		return e, true, nil
	}
	at, err := f.payload(r, p)
	if err != nil {
		f.set(key, nil)
		return e, false, err
	}
	f.set(key, &at)
	return entry{File: f.bounds.file, Layer: r.Layer, Index: int64(r.Index), Offset: at.offset, Length: at.length, CRC: at.crc, Factors: at.factors}, false, nil
}

// payload has p write the bytes of r.
func (f *recordFile) payload(r Record, p Payload) (placed, error) {
	w := payloadWriter{file: f, record: r}
	fs, err := p(&w)
	if err != nil {
		return placed{}, err
	}
	if w.n != r.Length {
		return placed{}, f.wrong(r, fmt.Sprintf("the payload has %d bytes, not %d", w.n, r.Length))
	}
	if rule := factors(fs); rule != "" {
		return placed{}, f.wrong(r, rule)
	}
	return placed{r.Offset, r.Length, w.crc, fs}, nil
}

func (f *recordFile) wrong(r Record, rule string) error {
	return &Error{f.bounds.file, f.name(r), rule}
}

// claim makes key the caller's to write, unless it is done or somebody's already.
func (f *recordFile) claim(key recordKey, r Record) (done, twice bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.written[key]; ok {
		return false, true
	}
	p := f.kept[key]
	done = p.offset == r.Offset && p.length == r.Length
	f.written[key] = p
	return done, false
}

// set says where the record of key is; nil: nowhere.
func (f *recordFile) set(key recordKey, p *placed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p == nil {
		delete(f.written, key)
	} else {
		f.written[key] = *p
	}
}

// A payloadWriter writes a record's bytes one after another.
type payloadWriter struct {
	file   *recordFile
	record Record
	n      int64
	crc    uint32
}

func (w *payloadWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > w.record.Length-w.n {
		return 0, w.file.wrong(w.record, fmt.Sprintf("the payload has %d bytes or more, not %d", w.n+int64(len(p)), w.record.Length))
	}
	n, err := w.file.WriteAt(p, w.record.Offset+w.n)
	w.n += int64(n)
	w.crc = crc32c.Update(w.crc, p[:n])
	if err != nil {
		return n, fmt.Errorf("%s: %w", w.file.name(w.record), err)
	}
	return n, nil
}

// fill checks that the records were written, they and no others, and sets their
// checksums and factors.
func (f *recordFile) fill(records []Record) error {
	for i := range records {
		r := &records[i]
		w, ok := f.written[recordKey{r.Layer, r.Index}]
		if !ok {
			return f.wrong(*r, "was not written")
		}
		if w.offset != r.Offset || w.length != r.Length {
			return f.wrong(*r, fmt.Sprintf("%d bytes were written at offset %d, not %d at %d", w.length, w.offset, r.Length, r.Offset))
		}
		r.CRC, r.Factors = w.crc, w.factors
	}
	if n := len(f.written); n > len(records) {
		return &Error{f.bounds.file, "", fmt.Sprintf("%d records were written, the manifest has %d", n, len(records))}
	}
	return nil
}

// finish makes the file durable and closes it.
func (f *recordFile) finish() error { return errors.Join(f.Sync(), f.Close()) }
