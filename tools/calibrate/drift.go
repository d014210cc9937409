package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"estream/ir"
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

// A Watch compares live routing with a calibration. Its methods are called by the
// goroutine of Run.
type Watch struct {
	calibration *Calibration
	counter     *Counter
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
	return &Watch{c, counter}, nil
}

// Watch makes a model that is opened with o tell w.
func (w *Watch) Watch(o *runtime.Options) { w.counter.Watch(o) }

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
	var layers []string
	for _, a := range w.End() {
		layers = append(layers, fmt.Sprintf("%d (%.2f over %d tokens, threshold %.2f)", a.Layer, a.Drift, a.Tokens, a.Threshold))
	}
	if len(layers) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("routing drifts from the calibration in %d of %d layers, by total variation: layer %s: calibrate on text like this",
		len(layers), len(w.calibration.Layers), strings.Join(layers, ", "))}
}
