package trace

import (
	"encoding/json"
	"fmt"
	"time"
)

// An event is one line of the file.
type event struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"` // X a slice, i an instant, M of a track itself
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Time     micros         `json:"ts"`
	Duration *micros        `json:"dur,omitempty"`
	Scope    string         `json:"s,omitempty"` // of an instant: t, its track
	Args     map[string]any `json:"args,omitempty"`
}

// micros is written in microseconds, exactly.
type micros time.Duration

func (m micros) MarshalJSON() ([]byte, error) {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, m/1000, m%1000), nil
}

func (w *Writer) time(t time.Time) micros { return micros(t.Sub(w.began)) }

// slice writes what took time.
func (w *Writer) slice(track int, name string, start, end time.Time, args map[string]any) {
	d := micros(end.Sub(start))
	w.write(event{Name: name, Phase: "X", Track: w.track(track), Time: w.time(start), Duration: &d, Args: args})
}

// track names a track that is new and returns it.
func (w *Writer) track(t int) int {
	if w.named[t] {
		return t
	}
	w.named[t] = true
	name := map[int]string{batches: "batches", programs: "programs", ops: "instructions", waits: "waits for reads", drops: "dropped guesses"}[t]
	switch {
	case t >= cell+2:
		name = fmt.Sprintf("bank %d", t-cell-2)
	case t >= cell:
		name = fmt.Sprintf("dense slot %d", t-cell)
	case t >= reader:
		name = fmt.Sprintf("reader %d", t-reader)
	}
	w.write(event{Name: "thread_name", Phase: "M", Track: t, Args: map[string]any{"name": name}})
	w.write(event{Name: "thread_sort_index", Phase: "M", Track: t, Args: map[string]any{"sort_index": t}})
	return t
}

func (w *Writer) write(e event) {
	if w.err != nil {
		return
	}
	e.Process = 1
	line, err := json.Marshal(e)
	if err != nil {
		w.err = err
		return
	}
	sep := ",\n"
	if w.first {
		sep, w.first = "\n", false
	}
	if _, w.err = w.out.WriteString(sep); w.err == nil {
		_, w.err = w.out.Write(line)
	}
}
