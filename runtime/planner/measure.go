package planner

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"estream/pager"
	"estream/passes"
	"estream/runtime"
)

// Measure profiles the package in a folder as Options runs it: a few seconds of short runs and reads.
func Measure(ctx context.Context, dir, key string, o runtime.Options) (*Profile, error) {
	s := NewSampler(&o)
	m, err := runtime.Open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	p, err := s.Measure(ctx, m, key)
	return p, errors.Join(err, m.Close())
}

// Measure profiles the package of a model that was opened with the sampler's Options, and leaves it open.
func (s *Sampler) Measure(ctx context.Context, m *runtime.Model, key string) (*Profile, error) {
	s.learn(m)
	for _, x := range []struct { // with nothing read meanwhile; with reads; with many hand-overs
		schedule pager.Schedule
		group    int
		lengths  []int
	}{{pager.OnDemand, 0, []int{64, 1024}}, {pager.BeforeRouting, 0, []int{512}}, {pager.BeforeRouting, 1, []int{64, 512}}} {
		s.schedule, s.group = x.schedule, x.group
		if err := s.sample(ctx, m, x.lengths...); err != nil {
			return nil, err
		}
	}
	p := &Profile{Key: key, Taken: time.Now().UTC().Truncate(time.Second), Drag: fitDrag(s.of), Classes: map[string]Class{}}
	p.Embed = fit(s.of["embed"], p.Drag, mostSeldom)
	for _, name := range s.layers[:s.last+1] {
		of := func(phase string) Line { return fit(s.of[name+phase], p.Drag, mostSeldom) }
		group := fit(s.of[s.experts[name]+groups], p.Drag, mostOften)
		p.Classes[name] = Class{of("." + passes.BodyPhase), group, of("." + passes.SidePhase), of("." + passes.TailPhase), of(rest)}
	}
	var err error
	p.Disk, err = measureDisk(ctx, m.Path, s.source, s.stride)
	return p, err
}

var errEnough = errors.New("every class of layers was seen")

// tooLong is how long a run takes after which there is no longer one, and reads after which there are no more rounds.
const tooLong = time.Second

// learn finds what of the layers a sampler has to know.
func (s *Sampler) learn(m *runtime.Model) {
	s.layers = m.Module().Layers
	for l, name := range s.layers {
		if !slices.Contains(s.layers[:l], name) {
			s.last = l
		}
	}
	for _, l := range Describe(m).Layers {
		s.stride = max(s.stride, l.Stride)
	}
}

// sample runs prompts of so many tokens through the first layers, each after a run that has memory put in place.
func (s *Sampler) sample(ctx context.Context, m *runtime.Model, lengths ...int) error {
	for _, n := range lengths {
		begun := time.Now()
		if err := s.run(ctx, m, n, true); err != nil {
			return err
		}
		if err := s.run(ctx, m, n, false); err != nil {
			return err
		}
		s.digest(n)
		if time.Since(begun) > 2*tooLong {
			break
		}
	}
	return nil
}

// choose gives each run the arena that is tried first, of groups as the sampler wants them, and its schedule.
func (s *Sampler) choose(m *runtime.Model, as func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
	g := runtime.Arena(m.Manifest())
	plan, err := as(runtime.Shape{Banks: g.Banks, Group: cmp.Or(s.group, g.Group)})
	plan.Schedule = s.schedule
	return plan, err
}

// run runs random tokens until every class of layers was seen; a short one ends with the first body.
func (s *Sampler) run(ctx context.Context, m *runtime.Model, tokens int, short bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begin(short, func() { cancel(errEnough) })
	rng, ids := rand.New(rand.NewPCG(1, uint64(tokens))), make([]int32, tokens)
	for i := range ids {
		ids[i] = int32(rng.IntN(m.Vocab()))
	}
	_, err := m.Run(ctx, runtime.Batch{Prompts: [][]int32{ids}, Logits: runtime.None})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
