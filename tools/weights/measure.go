package weights

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Options says what Measure measures.
type Options struct {
	Layers  []int // whose weights; nil: all weights of the model
	Sample  int   // values of a tensor that encodings are tried on, about; 0: 32768, negative: all
	Workers int   // tensors at a time; 0: one a processor

	Progress func(done, total int64) // values looked at; one call at a time
}

// A Report is what Measure found.
type Report struct {
	Tensors []Stats // by ID
	Alike   []Alike // a layer each that has experts
}

// Measure measures the tensors of a set. Range and shape are of all values, what
// encodings cost and how alike experts are of a sample of rows, the same of every
// expert.
func Measure(ctx context.Context, s *Set, o Options) (*Report, error) {
	if o.Sample == 0 {
		o.Sample = 1 << 15
	}
	if o.Workers <= 0 {
		o.Workers = goruntime.GOMAXPROCS(0)
	}
	m := &measuring{o: o, report: &Report{}}
	layers := chosen(s.Tensors, o.Layers)
	for _, ts := range layers {
		for _, t := range ts {
			m.total += t.Values()
		}
	}
	if err := missing(s.Tensors, o.Layers); err != nil {
		return nil, err
	}
	for _, ts := range layers {
		if err := m.layer(ctx, ts); err != nil {
			return nil, err
		}
	}
	return m.report, nil
}

// missing reports the first layer asked for that has no weights.
func missing(ts []Tensor, layers []int) error {
	last, has := -1, map[int]bool{}
	for _, t := range ts {
		last, has[t.Layer] = max(last, t.Layer), true
	}
	for _, l := range layers {
		if !has[l] {
			return fmt.Errorf("no weights of layer %d: the last that has some is %d", l, last)
		}
	}
	if len(ts) == 0 {
		return errors.New("no weights")
	}
	return nil
}

// chosen cuts tensors into those of each layer, and leaves out those not asked for.
func chosen(ts []Tensor, layers []int) [][]Tensor {
	wanted := map[int]bool{}
	for _, l := range layers {
		wanted[l] = true
	}
	var out [][]Tensor
	for _, t := range ts {
		switch n := len(out); {
		case layers != nil && !wanted[t.Layer]:
		case n > 0 && out[n-1][0].Layer == t.Layer:
			out[n-1] = append(out[n-1], t)
		default:
			out = append(out, []Tensor{t})
		}
	}
	return out
}

// A measuring is a report under way.
type measuring struct {
	o      Options
	report *Report

	mu          sync.Mutex
	done, total int64
}

// layer measures the tensors of a layer, several at a time.
func (m *measuring) layer(ctx context.Context, ts []Tensor) error {
	stats, samples := make([]Stats, len(ts)), make([][]float32, len(ts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.o.Workers)
	for i, t := range ts {
		g.Go(func() error {
			x := &look{Stats: Stats{ID: t.ID, Type: t.Type, Shape: t.Shape, Values: t.Values()}, every: m.every(t)}
			err := x.read(ctx, t, m.progress)
			stats[i] = x.finish(t)
			if t.Expert >= 0 {
				samples[i] = x.sample
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	m.report.Tensors = append(m.report.Tensors, stats...)
	if a, ok := alike(ts, samples); ok {
		m.report.Alike = append(m.report.Alike, a)
	}
	return nil
}

// every is how many rows one row of the sample stands for.
func (m *measuring) every(t Tensor) int {
	if m.o.Sample < 0 {
		return 1
	}
	rows := max(1, m.o.Sample/max(1, t.Width()))
	return max(1, (t.Rows()+rows-1)/rows)
}

func (m *measuring) progress(values int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done += int64(values); m.o.Progress != nil {
		m.o.Progress(m.done, m.total)
	}
}
