package planner

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"estream/pager"
	"estream/passes"
	"estream/runtime"
)

// What is sampled beside phases, behind a class's name.
const (
	groups = ".group"
	rest   = ".rest"
)

// A Sampler runs prompts through the first layers of a package and notes how long programs take.
type Sampler struct {
	source func(string) (pager.Source, error)
	of     map[string][]sample // by class and phase, of groups by graph
	layers []string            // the class of each
	last   int                 // the layer after which every class was seen
	stride int64               // the largest expert's bytes

	schedule pager.Schedule // of the runs under way
	group    int            // experts a read of theirs; 0: as many as are tried first

	experts map[string]string // the graph of each class's experts, which classes share

	mu     sync.Mutex // guards what follows: readers tell of reads
	short  bool       // the run under way ends with its first body
	stop   func()     // ends it
	events []runtime.Event
	reads  []period
	waits  map[int]time.Duration // for experts, by layer
}

// NewSampler returns the sampler of the model that is opened with o next: o has it told of runs, which have no budget and
// shapes of its own. The model plans (PlanAs) as it would without.
func NewSampler(o *runtime.Options) *Sampler {
	s := &Sampler{source: o.Source, of: map[string][]sample{}, experts: map[string]string{}}
	o.Memory, o.Readers, o.Banks, o.Group, o.Choose, o.Events, o.Trace = 0, 0, 0, 0, s.choose, s.event, s.pager
	return s
}

// A period is a time from the first to the second.
type period [2]time.Time

func (s *Sampler) begin(short bool, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short, s.stop, s.events, s.reads, s.waits = short, stop, nil, nil, map[int]time.Duration{}
}

func (s *Sampler) pager(e pager.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == pager.Read:
		s.reads = append(s.reads, period{e.Start, e.End})
	case e.Kind == pager.Wait && !e.Dense:
		s.waits[e.Stage] += e.End.Sub(e.Start)
	}
}

func (s *Sampler) event(e runtime.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	if s.short && e.Kind == runtime.ProgramRan && e.Layer >= 0 || e.Kind == runtime.RecordsUsed && e.Dense && e.Layer == s.last {
		s.stop()
	}
}

// digest makes samples of what a run of so many tokens told.
func (s *Sampler) digest(tokens int) {
	reads := union(s.reads)
	var body, layer sample // the rows under way, until their router is through; what of the layer is accounted for
	past := 0              // rows of it so far
	for _, e := range s.events {
		if e.Kind == runtime.BatchRan || e.Layer >= len(s.layers) {
			continue
		}
		x := sample{rows: e.Rows, seconds: e.End.Sub(e.Start).Seconds()}
		if e.Kind == runtime.RecordsUsed {
			if e.Dense {
				s.add(s.layers[e.Layer]+"."+passes.BodyPhase, body)
				x.rows, x.more, x.seconds = tokens, layer.more, x.seconds-layer.seconds-s.waits[e.Layer].Seconds()
				s.add(s.layers[e.Layer]+rest, x)
				body, layer, past = sample{}, sample{}, 0
			}
			continue
		}
		x.read = reads.within(period{e.Start, e.End}).Seconds()
		if e.Layer < 0 {
			s.add("embed", x)
			continue
		}
		layer.seconds += x.seconds
		class := s.layers[e.Layer]
		phase, own := strings.CutPrefix(e.Graph, class+".")
		switch {
		case e.Count > 0:
			x.more = float64(e.Count)
			layer.more++
			s.experts[class] = e.Graph
			s.add(e.Graph+groups, x)
		case own && phase == passes.RoutePhase:
			body.seconds, body.read = body.seconds+x.seconds, body.read+x.read
		case own && phase == passes.BodyPhase:
			s.add(e.Graph, body)
			body, body.more = x, float64(x.rows)*(float64(past)+float64(x.rows+1)/2)
			past += x.rows
		default:
			s.add(e.Graph, x)
		}
	}
}

// add leaves out what took no time by a coarse clock.
func (s *Sampler) add(what string, x sample) {
	if x.seconds > 0 && x.rows > 0 {
		s.of[what] = append(s.of[what], x)
	}
}

// periods do not overlap, and rise.
type periods []period

// union is the time of any of some periods.
func union(all []period) (out periods) {
	slices.SortFunc(all, func(a, b period) int { return a[0].Compare(b[0]) })
	for _, p := range all {
		if n := len(out); n > 0 && !p[0].After(out[n-1][1]) {
			out[n-1][1] = later(out[n-1][1], p[1])
		} else {
			out = append(out, p)
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// within is how long of p is in one of them.
func (ps periods) within(p period) (d time.Duration) {
	i, _ := slices.BinarySearchFunc(ps, p[0], func(o period, t time.Time) int { return cmp.Or(o[1].Compare(t), 1) })
	for ; i < len(ps) && ps[i][0].Before(p[1]); i++ {
		from, to := later(ps[i][0], p[0]), p[1]
		if ps[i][1].Before(to) {
			to = ps[i][1]
		}
		d += max(0, to.Sub(from))
	}
	return d
}
