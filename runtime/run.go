package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"estream/lower"
	"estream/pager"
)

// A Result is what a batch gave.
type Result struct {
	Logits  []float32 // [N,V], the positions asked for in order; nil with Batch.Each or None
	Offsets []int32   // [B+1]: rows Offsets[b] to Offsets[b+1]-1 of Logits are prompt b's
	Vocab   int       // V
	Plan    Plan
	Stats   Stats
}

// Stats tells where a run's time and bytes went.
type Stats struct {
	pager.Stats
	Total   time.Duration // of Run
	Compute time.Duration // in programs
	Pool    int64         // bytes of all expert records
	Layer   int64         // bytes of the largest layer's expert records
	Guesses []Guesses     // of each layer whose experts were guessed
	Work    []LayerWork   // of each layer whose experts a device of fixed extents ran
}

// BubbleEstimate is 1 - max(reading, computing)/total, the share of the run in
// which neither limits: an estimate from the trace, not the bubble that a bench
// measures with reads and compute apart.
func (s Stats) BubbleEstimate() float64 {
	if s.Total <= 0 {
		return 0
	}
	return max(0, 1-float64(max(s.Busy, s.Compute))/float64(s.Total))
}

// Run runs a batch. Runs of one model take turns. The context cancels it at the
// next group or chunk. On the host backend results are the same bit for bit
// whatever the batch, schedule, budget, chunks and threads.
func (m *Model) Run(ctx context.Context, b Batch) (*Result, error) {
	ids, offsets, err := b.tokens(m.vocab)
	if err != nil {
		return nil, err
	}
	end, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	begun := time.Now()
	positions := b.positions(offsets)
	plan, err := m.plan(ctx, len(ids), len(offsets)-1, len(positions), b.Each == nil)
	if err != nil {
		return nil, err
	}
	r := &run{m: m, ctx: ctx, plan: plan, ids: ids, offsets: offsets, namedOf: -1}
	defer r.done(begun)
	res := &Result{Vocab: m.vocab, Plan: plan, Offsets: rowOffsets(b, offsets)}
	if err := r.start(len(positions)); err != nil {
		return nil, err
	}
	stats, err := r.whole(b, positions, res)
	if errors.Is(err, pager.ErrChecksum) || errors.Is(err, pager.ErrTruncated) {
		err = fmt.Errorf("the package is damaged; copy or pack it again: %w", err)
	}
	if err != nil {
		return nil, err
	}
	res.Stats = Stats{Stats: stats, Total: time.Since(begun), Compute: r.compute, Guesses: r.guesses, Work: r.work}
	res.Stats.Pool, res.Stats.Layer = m.poolBytes()
	return res, nil
}

// begin waits for the model's turn, which end gives up.
func (m *Model) begin(ctx context.Context) (end func(), err error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	end = func() { <-m.turn }
	if m.closed {
		end()
		return nil, ErrClosed
	}
	return end, nil
}

// whole runs forward and ends the pass, also where Each or Tap panics: no reader
// outlives the run.
func (r *run) whole(b Batch, positions []int32, res *Result) (stats pager.Stats, err error) {
	defer func() {
		var closeErr error
		if stats, closeErr = r.pass.Close(); errors.Is(closeErr, pager.ErrStalled) {
			r.m.abandon(r.pass) // a guess that nobody waits for
			closeErr = nil
		}
		if err == nil {
			err = closeErr
		}
	}()
	return stats, r.forward(b, positions, res)
}

// abandon gives up the memory of a pass that a hanging read may still write to;
// it is freed when that read returns.
func (m *Model) abandon(p *pager.Pass) {
	held, kept, routers := m.mem, m.pins, m.routers
	m.mem, m.pins, m.routers.mem, m.routers.loaded = nil, pins{}, nil, false
	go func() {
		<-p.Done()
		_ = held.free() // nobody is left to tell
		_ = kept.free()
		_ = routers.free()
	}()
}

func rowOffsets(b Batch, offsets []int32) []int32 {
	out := make([]int32, len(offsets))
	for i := range offsets[1:] {
		switch b.Logits {
		case Last:
			out[i+1] = int32(i + 1)
		case All:
			out[i+1] = offsets[i+1]
		}
	}
	return out
}

// poolBytes returns the bytes of all expert records, and of the largest layer's.
func (m *Model) poolBytes() (pool, layer int64) {
	for l := range m.layers {
		_, experts := m.records(l)
		n := int64(0)
		for _, r := range experts {
			n += r.Stride(m.pkg.Manifest.Align)
		}
		pool, layer = pool+n, max(layer, n)
	}
	return pool, layer
}

// A run is one batch on its way through the layers.
type run struct {
	m       *Model
	ctx     context.Context
	plan    Plan
	ids     []int32
	offsets []int32

	pass    *pager.Pass
	at      int // the layer under way, as Event has it
	arena   lower.Mem
	x, y    lower.Buffer // the residual stream, and where a layer's output goes
	frame   lower.Mem    // values that cross phases; before the layers, embeddings and the blocks they are read in
	state   lower.Mem
	step    *step
	routes  routes
	group   []lower.Expert
	members []int // the experts of group
	compute time.Duration

	votes   []int // for each expert of the last guess
	named   []int // those with votes, the likeliest first
	namedOf int   // the layer of the guess; -1: none
	guesses []Guesses
	work    []LayerWork
}

// start allocates what the plan says and begins to read.
func (r *run) start(positions int) error {
	m := r.m
	weights := m.host
	if m.device != nil {
		weights = m.device
	}
	g := r.plan.Geometry
	err := m.settle(r.plan)
	if err == nil {
		err = m.pins.keep(m, weights, r.plan.share)
	}
	if err == nil {
		err = m.routers.keep(m, r.plan.Schedule == pager.Guessed)
	}
	if err != nil {
		return err
	}
	if r.arena, err = m.mem.get(weights, "arena", max(g.Bytes(), g.Align), g.Align); err != nil {
		return err
	}
	arena, err := pager.NewArena(r.arena.Bytes(), g)
	if err != nil {
		return err
	}
	p, err := pager.New(pager.Config{
		Stages: m.stages, Dense: m.dense, Experts: m.experts, Arena: arena, Pins: m.pins.list(r.plan.share),
		Schedule: r.plan.Schedule, Readers: r.plan.Readers, Checks: m.checks, Trace: m.opt.Trace,
	})
	if err != nil {
		return err
	}
	if err := r.buffers(); err != nil {
		return err
	}
	heads := (positions + r.plan.Head - 1) / r.plan.Head
	r.pass, err = p.Start(r.ctx, heads)
	return err
}

// memory is where a record lies that the pager handed over.
func (r *run) memory(p *pager.Pin) lower.Mem {
	if p != nil {
		return r.m.pins.memory(p)
	}
	return r.arena
}

// forward is the whole computation.
func (r *run) forward(b Batch, positions []int32, res *Result) error {
	r.at = -1
	if err := r.loadRouters(); err != nil {
		return fmt.Errorf("routers: %w", err)
	}
	if err := r.embed(); err != nil {
		return fmt.Errorf("embeddings: %w", err)
	}
	for l, c := range r.m.layers {
		r.at = l
		if err := r.layer(l, c); err != nil {
			return fmt.Errorf("layer %d: %w", l, err)
		}
	}
	r.at = len(r.m.layers)
	if err := r.head(b, positions, res); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

// call runs a phase with inputs and outputs taken from an environment by name.
func (r *run) call(p *phase, weights []lower.Buffer, envs ...map[string]lower.Buffer) error {
	c := &lower.Call{Weights: weights}
	var err error
	for _, v := range p.graph.Inputs() {
		if c.In, err = r.take(c.In, v.Name, envs); err != nil {
			return fmt.Errorf("graph %s: %w", p.graph.Name, err)
		}
	}
	for _, v := range p.graph.Outputs {
		if c.Out, err = r.take(c.Out, v.Name, envs); err != nil {
			return fmt.Errorf("graph %s: %w", p.graph.Name, err)
		}
	}
	return r.program(p, c)
}

func (r *run) take(to []lower.Buffer, name string, envs []map[string]lower.Buffer) ([]lower.Buffer, error) {
	for _, env := range envs {
		if b, ok := env[name]; ok {
			return append(to, b), nil
		}
	}
	return nil, fmt.Errorf("nothing is named %q", name)
}

func (r *run) program(p *phase, c *lower.Call) error {
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	begun := time.Now()
	err := r.m.inside.of(r.at, p).Run(r.ctx, c)
	end := time.Now()
	r.compute += end.Sub(begun)
	r.count(c)
	r.ran(p, c, begun, end)
	return err
}

// tap shows the values of a layer that Options.Taps names, in that order.
func (r *run) tap(layer int, env map[string]lower.Buffer) {
	for _, name := range r.m.opt.Taps {
		if b, ok := env[name]; ok && r.m.opt.Tap != nil {
			r.m.opt.Tap(Tap{Layer: layer, Name: name, Buffer: b})
		}
	}
}
