package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"estream/pager/crc32c"
)

// The journal of an unfinished package is text. Its first line says what the
// package is made from, each further one that a record, or a run of rows, is on
// flash: it is written after the data was synced. A line is the CRC-32C of the
// rest in hex, a space, and JSON. A line that is not whole says nothing.
const (
	journalName    = "journal"
	journalVersion = 1
	maxJournal     = 256 << 20

	// What a killed writer loses is bounded by these: records are made durable, then
	// entered, after so many bytes or so long.
	syncBytes = 256 << 20
	syncTime  = 5 * time.Second
)

// A header is the first line.
type header struct {
	Journal  int        `json:"journal"` // version
	Identity []KeyValue `json:"identity"`
}

// An entry is each further line.
type entry struct {
	File    string    `json:"file"`
	Layer   int       `json:"layer"`
	Index   int64     `json:"index"`          // of the record, or the first row
	Rows    string    `json:"rows,omitempty"` // the region of which these are rows
	Count   int64     `json:"count,omitempty"`
	Offset  int64     `json:"offset"`
	Length  int64     `json:"length"`
	CRC     uint32    `json:"crc"`
	Factors []float32 `json:"factors,omitempty"`
}

// key tells the things that entries are of apart.
type key struct {
	file, rows string
	layer      int
	index      int64
}

func (e entry) key() key { return key{e.File, e.Rows, e.Layer, e.Index} }

// A journal is the file and the lines that are not yet in it.
type journal struct {
	head  header
	limit int64 // of bytes that wait

	mu      sync.Mutex
	f       *os.File
	pending []byte
	bytes   int64 // of data that the pending lines stand for
	kept    int64 // of data that is durable and entered
	last    time.Time
}

// add takes a line in, and reports whether it is time to sync.
func (j *journal) add(e entry) (due bool, err error) {
	line, err := sealLine(e)
	if err != nil {
		return false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = append(j.pending, line...)
	j.bytes += e.Length
	return j.bytes >= j.limit || time.Since(j.last) >= syncTime, nil
}

// take hands out what is pending.
func (j *journal) take() (lines []byte, bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines, bytes = j.pending, j.bytes
	j.pending, j.bytes, j.last = nil, 0, time.Now()
	return lines, bytes
}

// enter appends lines that stand for so many bytes of data, which are durable.
func (j *journal) enter(lines []byte, bytes int64) error {
	if _, err := j.f.Write(lines); err != nil {
		return err
	}
	if err := j.f.Sync(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept += bytes
	return nil
}

// rewrite replaces the journal in root by one of these entries, and opens it.
func (j *journal) rewrite(root *os.Root, entries []entry) error {
	text, err := sealLine(j.head)
	if err != nil {
		return err
	}
	j.kept = 0
	for _, e := range entries {
		line, err := sealLine(e)
		if err != nil {
			return err
		}
		text, j.kept = append(text, line...), j.kept+e.Length
	}
	if err := replaceFile(root, journalName, text); err != nil {
		return err
	}
	if err := j.close(); err != nil {
		return err
	}
	j.last = time.Now()
	j.f, err = root.OpenFile(journalName, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

func (j *journal) close() error {
	if j.f == nil {
		return nil
	}
	return j.f.Close()
}

// sealLine makes a line of v.
func sealLine(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32c.Checksum(data), data), nil
}

// unseal fills v from a line, and reports whether the line is whole.
func unseal(line []byte, v any) bool {
	sum, data, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32c.Checksum(data)) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v) == nil && !d.More()
}

// parseJournal returns what the text of a journal says, of each thing what is
// said last. Lines that are not whole are left out; without the first, nothing
// is known.
func parseJournal(text []byte) (head header, entries []entry, err error) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if !unseal(first, &head) {
		return header{}, nil, errors.New("its first line is damaged")
	}
	if head.Journal != journalVersion {
		return header{}, nil, fmt.Errorf("it is of version %d, and this estream writes %d", head.Journal, journalVersion)
	}
	at := map[key]int{}
	for line := range bytes.Lines(rest) {
		var e entry
		if !unseal(bytes.TrimSuffix(line, []byte("\n")), &e) {
			continue
		}
		if i, ok := at[e.key()]; ok {
			entries[i] = e
			continue
		}
		at[e.key()] = len(entries)
		entries = append(entries, e)
	}
	return head, entries, nil
}

// readJournal reads the journal in root.
func readJournal(root *os.Root) (header, []entry, error) {
	f, err := root.Open(journalName)
	if err != nil {
		return header{}, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err == nil && len(text) > maxJournal {
		err = fmt.Errorf("it is longer than %d bytes", maxJournal)
	}
	if err != nil {
		return header{}, nil, err
	}
	return parseJournal(text)
}

// differs says how an identity differs from the one that a journal has, in the
// first thing that does; empty for not at all.
func differs(was, is []KeyValue) string {
	for _, kv := range is {
		i := slices.IndexFunc(was, func(w KeyValue) bool { return w.Key == kv.Key })
		switch {
		case i < 0:
			return fmt.Sprintf("%s was not given and is now %s", kv.Key, kv.Value)
		case was[i].Value != kv.Value:
			return fmt.Sprintf("%s was %s and is now %s", kv.Key, was[i].Value, kv.Value)
		}
	}
	for _, kv := range was {
		if !slices.ContainsFunc(is, func(i KeyValue) bool { return i.Key == kv.Key }) {
			return fmt.Sprintf("%s was %s and is now not given", kv.Key, kv.Value)
		}
	}
	return ""
}
