package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"estream/ir"
	"estream/passes"
	"estream/runtime"
)

// Drift is the total variation distance between shares and counts: the share of
// choices that would have to go to other experts. It is 0 for no counts.
func Drift(shares []float64, counts []int) float64 {
	sum, d := 0, 0.0
	for _, n := range counts {
		sum += n
	}
	if sum == 0 {
		return 0
	}
	for e, n := range counts {
		d += math.Abs(float64(n)/float64(sum) - shares[e])
	}
	return d / 2
}

// Of batches, fewer than these say nothing of how far batches drift; else the
// threshold is the most that one drifted from the others, and a quarter more.
const (
	leastBatches = 4
	margin       = 1.25
)

// drift returns the median and most drift of kept batches, each from all that was
// counted but itself, and the threshold: 1, which no batch exceeds, for too few.
func (l *layer) drift() (spread []float64, threshold float64) {
	var ds []float64
	for _, batch := range l.kept {
		others := slices.Clone(l.counts)
		for e, n := range batch {
			others[e] -= n
		}
		ds = append(ds, Drift(popularity(others), batch))
	}
	if len(ds) < leastBatches {
		return []float64{}, 1
	}
	slices.Sort(ds)
	most := ds[len(ds)-1]
	return []float64{ds[len(ds)/2], most}, min(1, margin*most)
}

// A Watch compares live routing with a calibration, and adds up what a static
// device reports of each layer. Its methods are called by the goroutine of Run.
type Watch struct {
	calibration *Calibration
	counter     *Counter
	pending     *passes.Work // reported by the program that is about to be told of
	works       []passes.Work
}

// NewWatch watches runs of a package's module. It is an error if the module and the
// calibration are not of one shape.
func NewWatch(c *Calibration, m *ir.Module) (*Watch, error) {
	counter, err := NewCounter(m, c.Batch)
	if err != nil {
		return nil, err
	}
	ls, at := counter.routed()
	for i, l := range ls {
		if len(c.Layers) != len(ls) || c.Layers[i].Layer != at[i] || len(c.Layers[i].Counts) != len(l.counts) || c.Layers[i].Chosen != l.chosen {
			return nil, fmt.Errorf("the calibration's layers are not the package's: %w", ErrOther)
		}
	}
	return &Watch{calibration: c, counter: counter, works: make([]passes.Work, len(m.Layers))}, nil
}

// Watch makes a model that is opened with o tell w.
func (w *Watch) Watch(o *runtime.Options) {
	w.counter.Watch(o)
	events := o.Events
	o.Events = func(e runtime.Event) {
		if events != nil {
			events(e)
		}
		if e.Kind == runtime.ProgramRan && e.Layer >= 0 && e.Layer < len(w.works) && w.pending != nil {
			w.works[e.Layer].Add(*w.pending)
			w.pending = nil
		}
	}
}

// Report is for static.Policy.Report.
func (w *Watch) Report(_ string, work passes.Work) { w.pending = &work }

// Works returns what the device reported of each layer of the model.
func (w *Watch) Works() []passes.Work { return slices.Clone(w.works) }

// An Alarm is a layer whose live routing drifts from the calibration.
type Alarm struct {
	Layer            int
	Tokens           int
	Drift, Threshold float64
}

// End judges the run that has ended: batches as long as the calibration's, and what
// is left. The threshold of a shorter one of n tokens is larger by the root of
// batch/n, as chance is. Of a layer it tells the worst.
func (w *Watch) End() []Alarm {
	var out []Alarm
	for _, l := range w.calibration.Layers {
		if a, ok := w.judge(l, w.counter.under[l.Layer]); ok {
			out = append(out, a)
		}
	}
	w.counter.End(false)
	return out
}

func (w *Watch) judge(l Layer, ids []int32) (worst Alarm, alarming bool) {
	for part := range slices.Chunk(ids, w.calibration.Batch*l.Chosen) {
		counts := make([]int, len(l.Counts))
		for _, e := range part {
			counts[e]++
		}
		n := len(part) / l.Chosen
		a := Alarm{l.Layer, n, Drift(l.Popularity, counts), min(1, l.Threshold*math.Sqrt(float64(w.calibration.Batch)/float64(n)))}
		if a.Drift > a.Threshold && a.Drift-a.Threshold > worst.Drift-worst.Threshold {
			worst, alarming = a, true
		}
	}
	return worst, alarming
}

// Notes says what a user should know of the run that has ended; it calls End.
func (w *Watch) Notes() []string {
	var out, layers []string
	alarms := w.End()
	for _, a := range alarms {
		layers = append(layers, fmt.Sprintf("%d (%.2f over %d tokens, threshold %.2f)", a.Layer, a.Drift, a.Tokens, a.Threshold))
	}
	if len(layers) > 0 {
		out = append(out, fmt.Sprintf("routing drifts from the calibration in %d of %d layers, by total variation: layer %s: calibrate on text like this",
			len(layers), len(w.calibration.Layers), strings.Join(layers, ", ")))
	}
	var all passes.Work
	for _, x := range w.works {
		all.Add(x)
	}
	if all.Launches > 0 {
		out = append(out, fmt.Sprintf("experts: %d launches of %d rows, %.1f %% of them padding; %d second calls; %d experts of %d rows on the host",
			all.Launches, all.Computed, 100*all.Padding(), all.Overflow, all.HostExperts, all.HostRows))
	}
	if all.Dropped > 0 {
		out = append(out, fmt.Sprintf("%d of %d rows of experts were dropped: these are not the model's results", all.Dropped, all.Rows+all.Dropped))
	}
	clear(w.works)
	return out
}
