// Package trace writes what runs did as a timeline, in the JSON trace event format
// of Chromium, which ui.perfetto.dev shows. It reads such a file back, draws it, and
// says where the time went and why a run waited: see Timeline.
//
// Tracks are the batches, their programs, the instructions of these, waits for
// reads, each reader, and each cell of the arena as it is filled, waits and is
// used. What holds:
//
//	T1 slices of one track do not overlap
//	T2 every read and every state of a cell names its records
//	T3 after Close the file is whole, however the runs ended
//
// Memory does not grow with the trace: what is kept is the reads whose records
// have not been used yet. Reads of records that nobody wanted stand on the
// readers' tracks alone, and so do those into pins, which are no cells.
package trace

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"estream/lower/host"
	"estream/pager"
	"estream/runtime"
)

// Tracks in the order that they are shown in. Readers and cells are many.
const (
	batches = 1 + iota
	programs
	ops
	waits
	drops
	reader = 100
	cell   = 1000
)

// A Writer takes events from the hooks of a model and its host backend, one or
// several of them. Its methods are safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	out   *bufio.Writer
	began time.Time
	err   error // the first; the rest is not written
	first bool  // nothing is written yet
	named map[int]bool
	lanes []time.Time   // readers: the end of the last read of each
	reads []pager.Event // whose records have not been used yet
}

// NewWriter begins a trace. Times count from now on.
func NewWriter(w io.Writer) *Writer {
	t := &Writer{out: bufio.NewWriterSize(w, 1<<16), began: time.Now(), first: true, named: map[int]bool{}}
	_, t.err = t.out.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	t.write(event{Name: "process_name", Phase: "M", Args: map[string]any{"name": "estream"}})
	return t
}

// Close ends the trace and returns the first error of writing it. It does not
// close the writer below.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.out.WriteString("\n]}\n")
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// Empty reports whether no event was taken yet.
func (w *Writer) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.named) == 0
}

// Event takes an event of runtime.Options.Events.
func (w *Writer) Event(e runtime.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case runtime.BatchRan:
		w.slice(batches, fmt.Sprintf("%d tokens", e.Rows), e.Start, e.End, nil)
		w.reads = w.reads[:0]
	case runtime.ProgramRan:
		args := map[string]any{"layer": e.Layer, "graph": e.Graph, "rows": e.Rows, "on": e.On}
		if e.Count > 0 {
			args["experts"] = span(e.First, e.Count)
		}
		w.slice(programs, fmt.Sprintf("layer %d %s", e.Layer, e.Graph), e.Start, e.End, args)
	case runtime.RecordsUsed:
		w.used(e)
	}
}

// Op takes an event of host.Options.Trace.
func (w *Writer) Op(e host.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	args := map[string]any{"graph": e.Graph, "value": e.Value, "bytes": e.Bytes, "idle_us": micros(e.Idle)}
	if n := e.Products(); n > 0 {
		args["multiply_adds"] = n
		args["gops"] = 2 * float64(n) / max(1, float64(e.End.Sub(e.Start)))
	}
	w.slice(ops, strings.TrimSpace(e.Op+" "+valueName(e.Value)), e.Start, e.End, args)
}

// valueName is the name in a value's label, "%3:attn.q = matmul".
func valueName(label string) string {
	value, _, _ := strings.Cut(label, " ")
	_, name, _ := strings.Cut(value, ":")
	return name
}

// Pager takes an event of runtime.Options.Trace.
func (w *Writer) Pager(e pager.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := recordName(e.Stage, e.Dense, e.First, e.Count)
	args := map[string]any{"records": records}
	switch e.Kind {
	case pager.Wait:
		w.slice(waits, records, e.Start, e.End, args)
	case pager.Drop:
		w.write(event{Name: records, Phase: "i", Scope: "t", Track: w.track(drops), Time: w.time(e.Start), Args: args})
	case pager.Read:
		args["bytes"] = e.Bytes
		if e.Err != nil {
			args["error"] = e.Err.Error()
		}
		w.slice(reader+w.lane(e), records, e.Start, e.End, args)
		if e.Stage >= 0 {
			w.reads = append(w.reads, e)
		}
	}
}

// recordName names records as inspect does.
func recordName(stage int, dense bool, first, count int) string {
	switch {
	case stage < 0:
		return "embedding table"
	case count == 0:
		return fmt.Sprintf("layer %d, none", stage)
	case dense:
		return fmt.Sprintf("layer %d dense %s", stage, span(first, count))
	}
	return fmt.Sprintf("layer %d experts %s", stage, span(first, count))
}

func span(first, count int) string {
	if count == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, first+count-1)
}

// lane finds the reader that was free last of those that were when the read began.
// Reads come in the order in which they end, so there are as many as were ever in
// flight at once.
func (w *Writer) lane(e pager.Event) int {
	best := -1
	for i, free := range w.lanes {
		if !free.After(e.Start) && (best < 0 || free.After(w.lanes[best])) {
			best = i
		}
	}
	if best < 0 {
		best = len(w.lanes)
		w.lanes = append(w.lanes, time.Time{})
	}
	w.lanes[best] = e.End
	return best
}

// used writes the life of a cell: its reads, those of its records, have ended.
func (w *Writer) used(e runtime.Event) {
	var filling, ready time.Time
	whole := false // a dense record may have been read for its next use, too
	w.reads = slices.DeleteFunc(w.reads, func(r pager.Event) bool {
		if r.Stage == e.Layer && r.Dense == e.Dense && r.First >= e.First && r.First+r.Count <= e.First+e.Count && !r.End.After(e.Start) && !whole {
			whole = r.Dense && r.Err == nil
			if filling.IsZero() || r.Start.Before(filling) {
				filling = r.Start
			}
			if r.End.After(ready) {
				ready = r.End
			}
			return true
		}
		return r.Stage < e.Layer // nobody wanted them
	})
	if e.Cell < 0 {
		return
	}
	args := map[string]any{"records": recordName(e.Layer, e.Dense, e.First, e.Count)}
	if !filling.IsZero() {
		w.slice(cell+e.Cell, "filling", filling, ready, args)
		w.slice(cell+e.Cell, "ready", ready, e.Start, args)
	}
	w.slice(cell+e.Cell, "in use", e.Start, e.End, args)
}
