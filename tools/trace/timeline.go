package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostSlices bounds what a trace that is read may hold.
const mostSlices = 8 << 20

// A Timeline is a trace that was read back, without its instructions. Times count
// from its beginning, and the slices of a row stand in order of time.
type Timeline struct {
	Batches  []Slice
	Programs []Slice
	Waits    []Slice
	Drops    []Slice   // of no length
	Readers  [][]Slice // of each reader
	Slots    [][]Slice // of each dense slot, as it is filling, ready and in use
	Banks    [][]Slice // of each bank
}

// A Slice is something that took time.
type Slice struct {
	Name       string
	Records    string // that were read, waited for, or held; empty for batches and programs
	Layer      int    // -1 for the embeddings, the number of layers for the head
	Graph      string // of a program
	Bytes      int64  // of a read
	Error      string // of a read
	Start, End time.Duration
}

// Took is how long it took.
func (s Slice) Took() time.Duration { return s.End - s.Start }

// Read reads what a Writer wrote. The file may come from anybody.
func Read(r io.Reader) (*Timeline, error) {
	d := json.NewDecoder(r)
	t := &reading{Timeline: &Timeline{}, tracks: map[int]string{}}
	for {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("no trace: it has no traceEvents: %w", ended(err))
		}
		if token == "traceEvents" {
			break
		}
	}
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return nil, errors.New("no trace: traceEvents is no list")
	}
	for d.More() {
		if err := t.event(d); err != nil {
			return nil, fmt.Errorf("trace at byte %d: %w", d.InputOffset(), err)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the trace is cut off: %w", ended(err))
	}
	return t.Timeline, t.sort()
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A reading is a timeline of which a part was read.
type reading struct {
	*Timeline
	tracks map[int]string // names
	n      int
}

// A read is an event as it is read.
type read struct {
	Name     string  `json:"name"`
	Phase    string  `json:"ph"`
	Track    int     `json:"tid"`
	Time     float64 `json:"ts"`
	Duration float64 `json:"dur"`
	Args     struct {
		Name    string  `json:"name"`
		Records string  `json:"records"`
		Layer   *int    `json:"layer"`
		Graph   string  `json:"graph"`
		Bytes   float64 `json:"bytes"`
		Error   string  `json:"error"`
	} `json:"args"`
}

func (t *reading) event(d *json.Decoder) error {
	var e read
	if err := d.Decode(&e); err != nil {
		return ended(err)
	}
	if e.Phase == "M" {
		if e.Name == "thread_name" {
			t.tracks[e.Track] = e.Args.Name
		}
		return nil
	}
	row, err := t.row(t.tracks[e.Track])
	if row == nil || err != nil {
		return err
	}
	if t.n++; t.n > mostSlices {
		return fmt.Errorf("more than %d slices", mostSlices)
	}
	const day = 24 * 3600e6
	if !(e.Time >= 0 && e.Duration >= 0 && e.Time+e.Duration <= 100*day && e.Args.Bytes >= 0 && e.Args.Bytes < 1<<60) {
		return fmt.Errorf("%q: time %v, duration %v, or bytes %v is out of range", e.Name, e.Time, e.Duration, e.Args.Bytes)
	}
	s := Slice{Name: e.Name, Records: e.Args.Records, Graph: e.Args.Graph, Bytes: int64(e.Args.Bytes), Error: e.Args.Error, Start: span64(e.Time), End: span64(e.Time + e.Duration)}
	s.Layer = layerOf(s.Records)
	if e.Args.Layer != nil {
		s.Layer = *e.Args.Layer
	}
	*row = append(*row, s)
	return nil
}

func span64(micros float64) time.Duration { return time.Duration(math.Round(micros * 1000)) }

// row is where slices of a track go; nil for those that a timeline leaves out.
func (t *reading) row(track string) (*[]Slice, error) {
	switch track {
	case "batches":
		return &t.Batches, nil
	case "programs":
		return &t.Programs, nil
	case "waits for reads":
		return &t.Waits, nil
	case "dropped guesses":
		return &t.Drops, nil
	}
	for prefix, rows := range map[string]*[][]Slice{"reader ": &t.Readers, "dense slot ": &t.Slots, "bank ": &t.Banks} {
		number, ok := strings.CutPrefix(track, prefix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= 1<<16 {
			return nil, fmt.Errorf("track %q has no number from 0 to 65535", track)
		}
		for len(*rows) <= n {
			*rows = append(*rows, nil)
		}
		return &(*rows)[n], nil
	}
	return nil, nil
}

// layerOf is the layer in the name of records; -1 where there is none.
func layerOf(records string) int {
	layer := -1
	if _, err := fmt.Sscanf(records, "layer %d", &layer); err != nil {
		return -1
	}
	return layer
}

// sort puts the slices of each row in order of time.
func (t *Timeline) sort() error {
	for _, row := range t.rows() {
		slices.SortStableFunc(row, func(a, b Slice) int { return cmp.Compare(a.Start, b.Start) })
	}
	if len(t.Batches)+len(t.Programs) == 0 {
		return errors.New("the trace has no run in it")
	}
	return nil
}

// rows are all rows.
func (t *Timeline) rows() [][]Slice {
	return slices.Concat([][]Slice{t.Batches, t.Programs, t.Waits, t.Drops}, t.Readers, t.Slots, t.Banks)
}

// Span is the time from the first slice to the end of the last.
func (t *Timeline) Span() (from, to time.Duration) {
	from = math.MaxInt64
	for _, row := range t.rows() {
		for _, s := range row {
			from, to = min(from, s.Start), max(to, s.End)
		}
	}
	return min(from, to), to
}

// During is the time in which some layers were at work: from the first of their
// programs to the end of the last. It is false where none ran.
func (t *Timeline) During(first, last int) (from, to time.Duration, ok bool) {
	from = math.MaxInt64
	for _, s := range t.Programs {
		if s.Layer >= first && s.Layer <= last {
			from, to, ok = min(from, s.Start), max(to, s.End), true
		}
	}
	return min(from, to), to, ok
}
