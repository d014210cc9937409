package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"estream/lower"
	"estream/lower/host"
	"estream/runtime"
	"estream/tools/energy"
)

// A session is a model that is open for one number of threads.
type session struct {
	*bench
	pkg      string
	threads  int
	model    *runtime.Model
	backends string // that it runs on
	reads    recorder
	costs    *collector               // of the run under way
	busy     map[string]time.Duration // of it, by backend
}

// open opens the model that is measured.
func (s *session) open(ctx context.Context) (*runtime.Model, error) {
	o, h := s.Runtime, s.Host
	o.Threads, h.Threads = s.threads, s.threads
	h.Trace = s.op
	s.use(&o, host.New(h))
	o.Events = s.event
	if s.Trace != nil {
		o.Trace = s.Trace.Pager
	}
	if s.Bubble {
		o.Source = s.reads.open(o.Source)
	}
	if s.Shape != nil {
		if err := s.Shape(s.pkg, &o); err != nil {
			return nil, err
		}
	}
	m, err := runtime.Open(ctx, s.pkg, o)
	if err != nil {
		return nil, err
	}
	for _, n := range append(m.Notes(), s.reads.notes()...) {
		s.note("%s: %s", s.pkg, n)
	}
	if s.Opened != nil {
		s.Opened(s.pkg, m)
	}
	if s.Resident {
		if err := spare(modelSize(m), available()); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.pkg, err), m.Close())
		}
	}
	return m, nil
}

// use sets what the package runs on.
func (s *session) use(o *runtime.Options, host lower.Backend) {
	if o.Host = host; s.Use != nil {
		s.Use(s.pkg, o, host)
	}
	s.backends = o.Host.Name()
	if o.Device != nil {
		s.backends = o.Device.Name() + "," + s.backends
	}
}

func (s *session) op(e host.Event) {
	s.costs.op(e)
	if s.Trace != nil {
		s.Trace.Op(e)
	}
}

func (s *session) event(e runtime.Event) {
	if e.Kind == runtime.ProgramRan {
		s.busy[e.On] += e.End.Sub(e.Start)
	}
	if s.Trace != nil {
		s.Trace.Event(e)
	}
}

// test measures one length of prompt. With an error comes what was measured before it.
func (s *session) test(ctx context.Context, n int) (r *Result, err error) {
	b := s.batch(n)
	plan, err := s.model.PlanContext(ctx, b)
	if err != nil {
		return nil, err
	}
	s.progress("plan: %s", plan)
	if r, err = s.describe(n, plan); err != nil {
		return nil, err
	}
	t := &tally{Result: r, costs: newCollector()}
	defer func() {
		t.sum(s)
		err = errors.Join(err, t.apart.close())
	}()
	if !s.NoWarmup {
		s.progress("%s: warming up", r.Name())
		if _, err := s.once(ctx, b); err != nil {
			return r, err
		}
	}
	for i := range s.Repetitions {
		s.progress("%s: run %d of %d", r.Name(), i+1, s.Repetitions)
		if err := s.repeat(ctx, t, b); err != nil {
			return r, err
		}
	}
	if w := t.work; w.Dropped > 0 {
		s.note("%s: %d of %d rows of experts were dropped, as the calibration says: the model's own run would take longer", r.Name(), w.Dropped, w.Rows+w.Dropped)
	}
	return r, nil
}

// batch is a prompt of so many tokens.
func (s *session) batch(n int) runtime.Batch {
	return runtime.Batch{Prompts: [][]int32{tokens(s.Seed, n, s.model.Vocab())}}
}

// tokens returns n random ids, which follow from the seed.
func tokens(seed uint64, n, vocab int) []int32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(rng.IntN(vocab))
	}
	return ids
}

// once runs the batch.
func (s *session) once(ctx context.Context, b runtime.Batch) (*runtime.Result, error) {
	s.reads.reset()
	s.costs, s.busy = newCollector(), map[string]time.Duration{}
	return s.model.Run(ctx, b)
}

// repeat is one repetition. One that fails counts for nothing.
func (s *session) repeat(ctx context.Context, t *tally, b runtime.Batch) error {
	var m *energy.Measurement
	if s.Energy != nil {
		m = s.Energy.Start()
	}
	res, err := s.once(ctx, b)
	used := energy.Reading{Source: energy.Unmeasured, Note: "not asked for"}
	if m != nil {
		used = m.Stop()
	}
	if err != nil {
		return err
	}
	if !s.crowded {
		peak := runtime.PeakBytes()
		t.PeakBytes = &peak
	}
	var apart apartTimes
	if s.Bubble {
		if apart, err = s.apart(ctx, t, b, res); err != nil {
			return err
		}
	}
	s.costs.ran(res.Stats)
	t.costs.add(s.costs)
	t.add(res, used, s.busy, apart)
	return nil
}

// apartTimes are of a repetition's reads and computation, each by itself, and of both
// at once, neither of which waits for the other.
type apartTimes struct{ reads, compute, both time.Duration }

// apart does the run's reads again with nothing computed, its computation with
// nothing read, and both at once.
func (s *session) apart(ctx context.Context, t *tally, b runtime.Batch, res *runtime.Result) (out apartTimes, err error) {
	if out.reads, err = s.reads.replay(ctx, res.Plan.Readers); err != nil {
		return out, fmt.Errorf("reads by themselves: %w", err)
	}
	if t.apart.model == nil {
		s.crowded = true
		if err := t.apart.open(ctx, s, b, res.Plan); err != nil {
			return out, fmt.Errorf("all weights in memory: %w", err)
		}
	}
	if out.compute, err = t.apart.run(ctx, b); err != nil {
		return out, err
	}
	var both apartTimes
	g, together := errgroup.WithContext(ctx)
	g.Go(func() (err error) { both.reads, err = s.reads.replay(together, res.Plan.Readers); return err })
	g.Go(func() (err error) { both.compute, err = t.apart.run(together, b); return err })
	err = g.Wait()
	out.both = max(both.reads, both.compute)
	return out, err
}

// A resident is the model with all weights in memory; its zero value is closed.
type resident struct{ model *runtime.Model }

// open opens it, and runs the batch once, so that its weights are read.
func (x *resident) open(ctx context.Context, s *session, b runtime.Batch, plan runtime.Plan) error {
	if err := spare(modelSize(s.model), available()); err != nil {
		return err
	}
	o, h := s.Runtime, s.Host
	h.Threads = s.threads
	s.use(&o, host.New(h))
	o.Threads, o.Chunk = s.threads, plan.Chunk
	keepAll(&o)
	var err error
	if x.model, err = runtime.Open(ctx, s.pkg, o); err != nil {
		return err
	}
	s.progress("reading all weights into memory")
	_, err = x.model.Run(ctx, b)
	return err
}

// run computes the batch and returns how long that takes.
func (x *resident) run(ctx context.Context, b runtime.Batch) (time.Duration, error) {
	res, err := x.model.Run(ctx, b)
	if err != nil {
		return 0, err
	}
	if n := res.Stats.Bytes; n > 0 {
		return 0, fmt.Errorf("all weights in memory, yet %d bytes were read", n)
	}
	return res.Stats.Total, nil
}

func (x *resident) close() error {
	if x.model == nil {
		return nil
	}
	return x.model.Close()
}
