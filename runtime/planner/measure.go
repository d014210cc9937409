package planner

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"estream/pager"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/pager/simulate"
	"estream/passes"
	"estream/runtime"
)

// Measure profiles the package in a folder as Options runs it: a few seconds of short runs and reads.
func Measure(ctx context.Context, dir, key string, o runtime.Options) (*Profile, error) {
	s := &sampler{o: o, dir: dir, of: map[string][]sample{}}
	for _, group := range []int{1, 4} { // with nothing read meanwhile
		if err := s.sample(ctx, pager.OnDemand, group, 8, 64, 256, 1024); err != nil {
			return nil, err
		}
	}
	p := &Profile{Key: key, Taken: time.Now().UTC().Truncate(time.Second), Embed: fit(s.of["embed"]), Classes: map[string]Class{}}
	for _, name := range s.layers[:s.last+1] {
		p.Classes[name] = Class{fit(s.of[name+".body"]), fit(s.of[name+".group"]), fit(s.of[name+".side"]), fit(s.of[name+".tail"]), fit(s.of[name+".rest"])}
	}
	s.of = map[string][]sample{}
	if err := s.sample(ctx, pager.BeforeRouting, 4, 64, 256); err != nil {
		return nil, err
	}
	p.Drag = s.drag(p.Classes)
	var err error
	p.Disk, err = measureDisk(ctx, dir, o.Source, s.stride)
	return p, err
}

// drag is by how much groups took longer than their lines say.
func (s *sampler) drag(classes map[string]Class) float64 {
	took, alone := 0.0, 0.0
	for name, c := range classes {
		for _, x := range s.of[name+".group"] {
			took += x.seconds
			alone += c.Group.of(1, int(x.rows), x.more).Seconds()
		}
	}
	if alone == 0 {
		return 0
	}
	return max(0, took/alone-1)
}

// A sampler runs prompts through the first layers of a package and notes how long programs take.
type sampler struct {
	o      runtime.Options
	dir    string
	of     map[string][]sample // by class and phase
	layers []string            // the class of each
	last   int                 // the layer after which every class was seen
	stride int64               // the largest expert's bytes

	stop   func()
	tokens int
	past   int           // rows of the layer so far
	busy   time.Duration // in programs and waits of the layer

	body     sample // of the rows under way, until their router is through
	bodyTook time.Duration
}

var errEnough = errors.New("every class of layers was seen")

// tooLong is how long a run takes after which there is no longer one, and reads after which there are no more rounds.
const tooLong = time.Second

// sample runs prompts of so many tokens, each twice: the first has memory put in place.
func (s *sampler) sample(ctx context.Context, schedule pager.Schedule, group int, lengths ...int) error {
	o := s.o
	o.Memory, o.Choose, o.Schedule, o.Readers, o.Banks, o.Group, o.Events, o.Trace = 0, nil, schedule, 0, 0, group, s.event, s.wait
	m, err := runtime.Open(ctx, s.dir, o)
	if err != nil {
		return err
	}
	defer m.Close()
	s.layers = m.Module().Layers
	for l, name := range s.layers {
		if !slices.Contains(s.layers[:l], name) {
			s.last = l
		}
	}
	for _, l := range Describe(m).Layers {
		s.stride = max(s.stride, l.Stride)
	}
	for _, n := range lengths {
		begun, before := time.Now(), maps.Clone(s.of)
		if err := s.run(ctx, m, n); err != nil {
			return err
		}
		s.of = before
		if err := s.run(ctx, m, n); err != nil {
			return err
		}
		if time.Since(begun) > 2*tooLong {
			break
		}
	}
	return nil
}

// run runs random tokens until every class of layers was seen.
func (s *sampler) run(ctx context.Context, m *runtime.Model, tokens int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.stop, s.tokens, s.past, s.busy, s.body = func() { cancel(errEnough) }, tokens, 0, 0, sample{}
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

func (s *sampler) wait(e pager.Event) {
	if e.Kind == pager.Wait && !e.Dense {
		s.busy += e.End.Sub(e.Start)
	}
}

func (s *sampler) event(e runtime.Event) {
	took := e.End.Sub(e.Start)
	switch {
	case e.Kind == runtime.BatchRan || e.Layer >= len(s.layers):
		return
	case e.Kind == runtime.RecordsUsed:
		if e.Dense {
			s.endBody(s.layers[e.Layer])
			s.add(s.layers[e.Layer]+".rest", sample{rows: s.tokens}, took-s.busy)
			s.past, s.busy = 0, 0
			if e.Layer == s.last {
				s.stop()
			}
		}
		return
	case e.Layer < 0:
		s.add("embed", sample{rows: e.Rows}, took)
		return
	}
	s.busy += took
	class := s.layers[e.Layer]
	phase, own := strings.CutPrefix(e.Graph, class+".")
	switch {
	case e.Count > 0:
		s.add(class+".group", sample{rows: e.Rows, more: float64(e.Count)}, took)
	case own && phase == passes.RoutePhase:
		s.bodyTook += took
	case own && phase == passes.BodyPhase:
		s.endBody(class)
		s.body, s.bodyTook = sample{rows: e.Rows, more: float64(e.Rows) * (float64(s.past) + float64(e.Rows+1)/2)}, took
		s.past += e.Rows
	default:
		s.add(e.Graph, sample{rows: e.Rows}, took)
	}
}

// endBody adds the body under way, with its router.
func (s *sampler) endBody(class string) {
	s.add(class+"."+passes.BodyPhase, s.body, s.bodyTook)
	s.body = sample{}
}

// add leaves out what took no time by a coarse clock.
func (s *sampler) add(what string, x sample, took time.Duration) {
	if x.seconds = took.Seconds(); x.seconds > 0 && x.rows > 0 {
		s.of[what] = append(s.of[what], x)
	}
}

// Reads that are measured: of at most so many bytes, for so long, in so many rounds.
const (
	mostRead = 16 << 20
	readFor  = 30 * time.Millisecond
	rounds   = 3
)

// measureDisk reads the larger of the package's weight files at random places, as readers do: an expert, four, and a block
// of the embedding table at a time.
func measureDisk(ctx context.Context, dir string, open func(string) (pager.Source, error), stride int64) (d simulate.Disk, err error) {
	if open == nil {
		open = func(path string) (pager.Source, error) { return pager.OpenFile(path) }
	}
	var src pager.Source
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		f, err := open(filepath.Join(dir, name))
		if err != nil {
			return d, err
		}
		defer f.Close()
		if src == nil || f.Size() > src.Size() {
			src = f
		}
	}
	mem, free, err := pager.Pages(4 * mostRead)
	if err != nil {
		return d, err
	}
	defer free()
	clear(mem)
	var rates []rate
	begun := time.Now()
	for i := range 3 * rounds { // in turn, so that what disturbs some of them disturbs each kind
		if i >= 3 && time.Since(begun) > tooLong {
			break
		}
		size := min([]int64{stride, 4 * stride, layout.BlockSize}[i%3], mostRead, src.Size()) / src.Align() * src.Align()
		for readers := 1; readers <= 4 && size > 0; readers++ {
			perS, err := measureRate(ctx, src, mem, readers, size)
			if err != nil {
				return d, err
			}
			rates = append(rates, rate{readers, size, perS})
		}
	}
	check := 0.0
	for i := range 4 {
		begun := time.Now()
		crc32c.Checksum(mem[i*mostRead:][:mostRead])
		check = max(check, mostRead/time.Since(begun).Seconds())
	}
	return fitDisk(rates, check), nil
}

func measureRate(ctx context.Context, src pager.Source, mem []byte, readers int, size int64) (perS float64, err error) {
	var total atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i := range readers {
		rng, p := rand.New(rand.NewPCG(uint64(i), uint64(size))), mem[int64(i)*mostRead:][:size]
		g.Go(func() error {
			for once := true; once || time.Since(begun) < readFor; once = false {
				if err := src.ReadAt(ctx, p, rng.Int64N((src.Size()-size)/src.Align()+1)*src.Align()); err != nil {
					return err
				}
				crc32c.Checksum(p)
				total.Add(size)
			}
			return nil
		})
	}
	err = g.Wait()
	return float64(total.Load()) / time.Since(begun).Seconds(), err
}
