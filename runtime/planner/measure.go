package planner

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"estream/pager"
	"estream/pager/layout"
	"estream/pager/simulate"
	"estream/passes"
	"estream/runtime"
)

// Lengths of prompts that are run, rising, until one takes too long.
var (
	lengths = [...]int{8, 64, 256, 1024}
	enough  = time.Second
)

// Measure profiles the package in a folder as Options runs it: some two seconds of reads and short runs.
func Measure(ctx context.Context, dir, key string, o runtime.Options) (*Profile, error) {
	s := &sampler{o: o, dir: dir, of: map[string][]sample{}}
	for _, group := range []int{1, 4} {
		if err := s.sample(ctx, group); err != nil {
			return nil, err
		}
	}
	p := &Profile{Key: key, Taken: time.Now().UTC().Truncate(time.Second), Embed: line(s.of["embed"]), Classes: map[string]Class{}}
	for _, name := range s.classes {
		c := Class{Body: line(s.of[name+".body"]), Side: line(s.of[name+".side"]), Tail: line(s.of[name+".tail"]), Rest: line(s.of[name+".rest"]),
			Expert: points(s.of[name+".experts"])}
		c.split(s.of[name+".groups"])
		p.Classes[name] = c
	}
	var err error
	p.Disk, err = measureDisk(ctx, dir, o.Source)
	return p, err
}

// A sampler runs prompts through the first layers of a package and notes how long programs take.
type sampler struct {
	o       runtime.Options
	dir     string
	of      map[string][]sample // by class and phase
	classes []string

	module []string // the class of each layer
	last   int      // the layer after which every class was seen
	stop   func()
	tokens int
	past   int           // rows of the layer so far
	busy   time.Duration // in programs and waits of the layer
}

var errEnough = errors.New("every class of layers was seen")

func (s *sampler) sample(ctx context.Context, group int) error {
	o := s.o
	o.Memory, o.Choose, o.Readers, o.Banks, o.Group, o.Events, o.Trace = 0, nil, 0, 0, group, s.event, s.wait
	m, err := runtime.Open(ctx, s.dir, o)
	if err != nil {
		return err
	}
	defer m.Close()
	s.module, s.classes = m.Module().Layers, nil
	for l, name := range s.module {
		if !slices.Contains(s.classes, name) {
			s.classes, s.last = append(s.classes, name), l
		}
	}
	before := s.of
	s.of = map[string][]sample{}
	if err := s.run(ctx, m, lengths[0]); err != nil { // to have everything in place
		return err
	}
	s.of = before
	for _, n := range lengths {
		begun := time.Now()
		if err := s.run(ctx, m, n); err != nil {
			return err
		}
		if time.Since(begun) > enough {
			break
		}
	}
	return nil
}

// run runs random tokens until every class of layers was seen.
func (s *sampler) run(ctx context.Context, m *runtime.Model, tokens int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.stop, s.tokens, s.past, s.busy = func() { cancel(errEnough) }, tokens, 0, 0
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
	case e.Kind == runtime.BatchRan || e.Layer >= len(s.module):
		return
	case e.Kind == runtime.RecordsUsed:
		if e.Dense {
			s.add(s.module[e.Layer]+".rest", sample{rows: s.tokens}, took-s.busy)
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
	class := s.module[e.Layer]
	phase, own := strings.CutPrefix(e.Graph, class+".")
	switch {
	case e.Count == 1:
		s.add(class+".experts", sample{rows: e.Rows, count: 1}, took)
	case e.Count > 1:
		s.add(class+".groups", sample{rows: e.Rows, count: e.Count}, took)
	case own && phase == passes.RoutePhase:
		body := s.of[class+".body"]
		body[len(body)-1].seconds += took.Seconds()
	case own && phase == passes.BodyPhase:
		s.add(e.Graph, sample{rows: e.Rows, pairs: float64(e.Rows) * (float64(s.past) + float64(e.Rows+1)/2)}, took)
		s.past += e.Rows
	default:
		s.add(e.Graph, sample{rows: e.Rows}, took)
	}
}

func (s *sampler) add(what string, x sample, took time.Duration) {
	if x.seconds = took.Seconds(); x.seconds > 0 && x.rows > 0 {
		s.of[what] = append(s.of[what], x)
	}
}

// Reads that are measured: so many bytes at least, for so long.
const (
	leastRead = 256 << 10
	mostRead  = 8 << 20
	readFor   = 50 * time.Millisecond
)

// measureDisk reads the larger of the package's weight files at random places, as readers do.
func measureDisk(ctx context.Context, dir string, open func(string) (pager.Source, error)) (d simulate.Disk, err error) {
	if open == nil {
		open = func(path string) (pager.Source, error) { return pager.OpenFile(path) }
	}
	var files []pager.Source
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		src, err := open(filepath.Join(dir, name))
		if err != nil {
			return d, err
		}
		defer src.Close()
		files = append(files, src)
	}
	src := slices.MaxFunc(files, func(a, b pager.Source) int { return cmp.Compare(a.Size(), b.Size()) })
	mem, free, err := pager.Pages(4 * mostRead)
	if err != nil {
		return d, err
	}
	defer free()
	clear(mem)
	var rates []rate
	size := min(int64(leastRead), src.Size()/layout.DefaultAlign*layout.DefaultAlign)
	for ; size > 0 && size <= min(mostRead, src.Size()); size *= 2 {
		for readers := 1; readers <= 4; readers++ {
			r, err := measureRate(ctx, src, mem, readers, size)
			if err != nil {
				return d, err
			}
			rates = append(rates, r)
		}
	}
	begun := time.Now()
	sum(mem)
	return disk(rates, float64(len(mem))/time.Since(begun).Seconds()), nil
}

func sum(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

func measureRate(ctx context.Context, src pager.Source, mem []byte, readers int, size int64) (rate, error) {
	var done [4]int64
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i := range readers {
		rng, p := rand.New(rand.NewPCG(uint64(i), uint64(size))), mem[int64(i)*mostRead:][:size]
		g.Go(func() error {
			for done[i] == 0 || time.Since(begun) < readFor {
				off := rng.Int64N((src.Size()-size)/layout.DefaultAlign+1) * layout.DefaultAlign
				if err := src.ReadAt(ctx, p, off); err != nil {
					return err
				}
				sum(p)
				done[i] += size
			}
			return nil
		})
	}
	err := g.Wait()
	total := done[0] + done[1] + done[2] + done[3]
	return rate{readers, size, float64(total) / time.Since(begun).Seconds()}, err
}
