package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"estream/pager"
	"estream/pager/layout"
)

// A Plan is how a batch will run and what memory it takes at its peak.
type Plan struct {
	Tokens, Sequences, Rows int // of the batch; Rows are those whose logits are asked for

	Schedule pager.Schedule // when reads begin: that of Options, or the one chosen for Auto
	Chunk    int            // rows of a body at a time
	Head     int            // rows of logits at a time: the head is read once for each
	Readers  int            // Q
	Geometry pager.Geometry
	Budget   int64 // that it fits, 0 for none: what the rest leaves of it keeps weights in memory
	Parts    []Part

	share share // what stays in memory

	collect bool // logits of all rows at once

	frame, state int64 // bytes of the largest class's frame, and of a layer's memory
	device       int64 // bytes that graphs may take when they first run
}

// taken is the program's part of a plan, and what a device's graphs may take in it.
type taken struct{ program, device int64 }

// A Part is one use of memory.
type Part struct {
	Name  string
	Bytes int64
}

// Bytes returns the planned peak of the process's resident memory.
func (p Plan) Bytes() int64 {
	n := int64(0)
	for _, part := range p.Parts {
		n += part.Bytes
	}
	return n
}

func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %d tokens in chunks of %d:", mib(p.Bytes()), p.Tokens, p.Chunk)
	for _, part := range p.Parts {
		if part.Bytes >= 1<<20/20 { // what does not print as zero
			fmt.Fprintf(&b, " %s %s,", part.Name, mib(part.Bytes))
		}
	}
	fmt.Fprintf(&b, " Q=%d B=%d G=%d %v", p.Readers, p.Geometry.Banks, p.Geometry.Group, p.Schedule)
	return b.String()
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Plan returns how Run would run the batch, or an error that wraps ErrMemory and
// names the least that works.
func (m *Model) Plan(b Batch) (Plan, error) { return m.PlanContext(context.Background(), b) }

// PlanContext is Plan until ctx is done: the first plan of a device may run its graphs
// for seconds, to learn what memory they take, and a run that is under way comes first.
func (m *Model) PlanContext(ctx context.Context, b Batch) (Plan, error) {
	ids, offsets, err := b.tokens(m.vocab)
	if err != nil {
		return Plan{}, err
	}
	end, err := m.begin(ctx)
	if err != nil {
		return Plan{}, err
	}
	defer end()
	return m.plan(ctx, len(ids), len(offsets)-1, len(b.positions(offsets)), b.Each == nil)
}

// A Shape is what of a plan may be chosen freely; a 0 is left to the model.
type Shape struct {
	Readers int // reads in flight (Q)
	Banks   int // groups of experts in memory (B)
	Group   int // experts a read (G)
}

// PlanAs returns how Run would run a batch of one prompt of so many tokens, logits
// asked for the last, in a shape and a budget as given instead of those of Options.
// The program's part is that of the plan before, on a device of the first PlanAs of as many
// tokens, so that plans compare. It plans nothing once ctx is done.
func (m *Model) PlanAs(ctx context.Context, tokens int, s Shape, memory int64) (Plan, error) {
	if err := ctx.Err(); err != nil {
		return Plan{}, err
	}
	end, err := m.begin(ctx)
	if err != nil {
		return Plan{}, err
	}
	defer end()
	p := Plan{Tokens: tokens, Sequences: 1, Rows: 1, collect: true}
	if first, ok := m.compare[tokens]; ok {
		defer func(now int64) { m.program = now }(m.program)
		m.program, p.device = first.program, first.device
	} else if m.program == 0 || m.device != nil {
		if err := m.ready(ctx, &p); err != nil {
			return p, err
		}
		if m.device != nil {
			m.compare[tokens] = taken{m.program, p.device}
		}
	}
	return m.fit(p, s, memory)
}

// PlanSure is PlanAs within a budget, 0 for none, less what the program's part may be larger by
// in another process that chooses a shape and runs again and again: what fits here fits there.
func (m *Model) PlanSure(ctx context.Context, tokens int, s Shape, memory int64) (Plan, error) {
	if memory == 0 {
		return m.PlanAs(ctx, tokens, s, 0)
	}
	p, err := m.PlanAs(ctx, tokens, s, max(1, memory-elsewhere))
	if errors.Is(err, ErrMemory) {
		err = m.tooSmall(memory, elsewhere+spread, p)
	}
	return p, err
}

// plan is of the shape that Options gives or chooses. Before it refuses a batch, it gives
// back what garbage of runs before takes.
func (m *Model) plan(ctx context.Context, tokens, seqs, rows int, collect bool) (Plan, error) {
	p := Plan{Tokens: tokens, Sequences: seqs, Rows: rows, collect: collect}
	if err := m.ready(ctx, &p); err != nil {
		return p, err
	}
	plan, err := m.shaped(p)
	if errors.Is(err, ErrMemory) {
		debug.FreeOSMemory()
		m.program = 0
		m.measureProgram()
		plan, err = m.shaped(p)
	}
	return plan, err
}

// shaped fits a plan that is ready.
func (m *Model) shaped(p Plan) (Plan, error) {
	as := func(s Shape) (Plan, error) { return m.fit(p, s, m.opt.Memory) }
	given := Shape{m.opt.Readers, m.opt.Banks, m.opt.Group}
	if m.opt.Choose != nil && given == (Shape{}) {
		return m.opt.Choose(m, as)
	}
	return as(given)
}

// ready has the device ready for a plan, and finds what of memory is not the model's.
func (m *Model) ready(ctx context.Context, p *Plan) (err error) {
	if p.device, err = m.pending(ctx, p.Tokens); err == nil {
		m.measureProgram()
	}
	return err
}

// fit tries the fastest geometries of a shape first and takes the first that fits.
func (m *Model) fit(p Plan, s Shape, memory int64) (Plan, error) {
	p.Readers, p.Budget = cmp.Or(s.Readers, 2), memory
	budget := cmp.Or(memory, mostBytes)
	var least Plan
	for _, shape := range m.shapes(p.Tokens, s) {
		p.Schedule, p.Geometry, p.Chunk, p.Head = shape.schedule, shape.Geometry, shape.chunk, min(max(p.Rows, 1), shape.chunk)
		if err := m.measure(&p); err != nil {
			return p, err
		}
		if left := budget - p.Bytes(); left >= 0 && budget >= m.opened {
			if memory > 0 && !m.opt.Once {
				p.share = m.share(left)
				p.Parts = append(p.Parts, Part{"pins", p.share.bytes})
			}
			if more := m.opened - p.Bytes(); more > 0 {
				p.Parts = append(p.Parts, Part{"opening", more})
			}
			return p, nil
		}
		if least.Tokens == 0 || p.Bytes() < least.Bytes() {
			least = p
		}
	}
	return least, m.tooSmall(budget, spread, least)
}

// tooSmall is the error of a budget that is less than the least plan, or less than so much more.
func (m *Model) tooSmall(budget, more int64, least Plan) error {
	return fmt.Errorf("%w: %s given, the least that is sure to work is %s, or give fewer tokens at a time; the smallest plan, of which a run reads up to %s, is %s",
		ErrMemory, mib(budget), mib(max(least.Bytes(), m.opened)+more), mib(m.mostRead(least)), least)
}

const (
	spans     = 1 << 20 // of pages that the heap has more, some runs later, than it grew by, and of code that runs first
	late      = 4 << 20 // of what calls made anew, at most, before the collector has run beside threads that compute
	spread    = 1 << 20 // by how much the program's own part may differ when it is started anew
	elsewhere = 2 << 20 // by how much it may be larger in another process, that has chosen shapes and run before
	mostBytes = 1 << 46 // of a plan without a budget
)

// A geometryChunk is an arena with a number of body rows, and the schedule that it is for.
type geometryChunk struct {
	pager.Geometry
	chunk    int
	schedule pager.Schedule
}

// shapes are what to try, the fastest first: chunks below fewRows cost more than
// small groups do, and so come last.
func (m *Model) shapes(tokens int, s Shape) []geometryChunk {
	var many, few []geometryChunk
	for _, schedule := range m.schedules(tokens) {
		for _, g := range geometries(m.pkg.Manifest, s, schedule) {
			if m.opt.Schedule == pager.Auto && schedule == pager.Guessed && g.Banks < 2 {
				continue // one bank holds no guesses: routers would be read and kept in vain
			}
			for _, chunk := range m.chunks(tokens) {
				if chunk >= min(fewRows, tokens) {
					many = append(many, geometryChunk{g, chunk, schedule})
				} else {
					few = append(few, geometryChunk{g, chunk, schedule})
				}
			}
		}
	}
	return append(many, few...)
}

const fewRows = 128

// chunks are the numbers of body rows to try.
func (m *Model) chunks(tokens int) []int {
	if m.opt.Chunk > 0 {
		return []int{min(m.opt.Chunk, tokens)}
	}
	var out []int
	for n := 512; n >= 16; n /= 2 {
		out = append(out, min(n, tokens))
	}
	return slices.Compact(out)
}

// groupBytes is about what a group of experts takes. A group is a few loops of all
// threads, which wait for each other after each, while readers take processor time
// of their own: with OLMoE's experts of 3 MiB one at a time, streaming 1,024 tokens
// took 1.4 times as long as eight at a time.
const groupBytes = 32 << 20

// Arena is what plans of a package with such a manifest try first, guesses apart.
func Arena(man *layout.Manifest) pager.Geometry {
	return geometries(man, Shape{}, pager.BeforeRouting)[0]
}

// geometries are the arenas of a shape to try: groups of about 32 MiB, at most an
// eighth of a layer, four of them, so that one is computed, one ready and two are read
// (with three, OLMoE waited for reads 0.23 s of the 2 s for 512 tokens, with four 0.05);
// three, if an expert is larger. Then less, down to a single expert. Guesses are
// seldom neighbours: for them the same bytes are groups of one.
func geometries(man *layout.Manifest, s Shape, schedule pager.Schedule) []pager.Geometry {
	g := pager.Geometry{Align: man.Align}
	most := 0
	for _, r := range man.Experts {
		g.Stride = max(g.Stride, r.Stride(g.Align))
		most = max(most, r.Index+1)
	}
	for _, r := range man.Dense {
		g.DenseSlot = max(g.DenseSlot, r.Stride(g.Align))
	}
	if most == 0 {
		return []pager.Geometry{g}
	}
	group, banks := max(1, min(int(groupBytes/g.Stride), most/8)), 4
	if g.Stride > groupBytes {
		banks = 3
	}
	var out []pager.Geometry
	for _, shape := range [][2]int{{banks, group}, {banks, max(1, group/2)}, {banks, max(1, group/4)}, {3, 1}, {2, 1}, {1, 1}} {
		if schedule == pager.Guessed {
			shape = [2]int{shape[0] * shape[1], 1}
		}
		g.Group = min(cmp.Or(s.Group, shape[1]), most)
		g.Banks = min(cmp.Or(s.Banks, shape[0]), 2*((most+g.Group-1)/g.Group)) // two layers at most
		out = append(out, g)
	}
	return slices.Compact(out)
}
