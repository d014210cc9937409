package planner

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"estream/pager"
	"estream/pager/simulate"
	"estream/runtime"
)

// A Choice is a plan with what it is predicted to take.
type Choice struct {
	Plan  runtime.Plan
	First simulate.Totals // the first run of a process
	Next  simulate.Totals // one that finds in memory what is to stay there
}

// ErrLimit is wrapped by the error of a choice that an accelerator's session cannot map.
var ErrLimit = errors.New("more than a session of the accelerator can map")

// within reports whether a takes no longer than b, 1 % apart.
func within(a, b time.Duration) bool { return float64(a) <= 1.01*float64(b) }

// beats reports whether a is better than c: by more than 1 % faster in the first run or the next, slower in neither, and
// of no more memory. Under one budget memory does not count: both may use all of it.
func (a Choice) beats(c Choice) bool {
	alike := a.Plan.Budget > 0 && a.Plan.Budget == c.Plan.Budget
	slower := a.First.Time > c.First.Time || a.Next.Time > c.Next.Time
	faster := !within(c.First.Time, a.First.Time) || !within(c.Next.Time, a.Next.Time)
	return faster && !slower && (alike || a.Plan.Bytes() <= c.Plan.Bytes())
}

// worthMemory is by how much a choice is slower than the fastest: less memory is worth more than that, and no prediction
// is much better.
const worthMemory = 1.02

// Choose returns a function for runtime.Options.Choose: it picks as Planner.Pick does, for first runs. It keeps the shapes
// that it picked for the last model it was given.
func (p *Profile) Choose(schedule pager.Schedule) func(*runtime.Model, func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
	c := &chooser{profile: p, schedule: schedule}
	return c.choose
}

// A chooser picks plans for batches of one model. The budget is the model's.
type chooser struct {
	profile  *Profile
	schedule pager.Schedule

	mu      sync.Mutex
	model   *runtime.Model
	planner *Planner
	shapes  map[batch]runtime.Shape
}

// A batch is what its plan follows from.
type batch struct{ tokens, sequences, rows int }

// mostShapes bounds the shapes that are kept.
const mostShapes = 1 << 12

func (c *chooser) choose(m *runtime.Model, as func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.model != m {
		c.model, c.shapes = m, map[batch]runtime.Shape{}
		c.planner = &Planner{Profile: c.profile, Package: Describe(m), Schedule: c.schedule}
	}
	own, _ := as(runtime.Shape{}) // one that does not fit says of what batch it is, too
	of := batch{own.Tokens, own.Sequences, own.Rows}
	if s, ok := c.shapes[of]; ok {
		if plan, err := as(s); !errors.Is(err, runtime.ErrMemory) {
			return plan, err
		}
	}
	best, err := c.planner.Pick(as)
	clear(c.planner.routes) // large, and not needed again for this batch
	debug.FreeOSMemory()    // or the next plan takes what trying shapes left for the program's own
	if err != nil {
		return best.Plan, err
	}
	if len(c.shapes) == mostShapes {
		clear(c.shapes)
	}
	g := best.Plan.Geometry
	c.shapes[of] = runtime.Shape{Readers: best.Plan.Readers, Banks: g.Banks, Group: g.Group}
	return best.Plan, nil
}

// Pick tries shapes and returns the best, or the error of the runtime's own shape where none fits. Of those at most 2 %
// slower than the fastest, which no other beats, it is the one of about the smallest arena. What a machine that is busier
// than its profile would punish is left out where something else is as good: one reader, and fewer banks than one that is computed on, one that is read and one in case
// either is late. Of arenas that differ by less than a factor of two the one of the largest reads is taken, and of those
// of guesses, each of which takes a bank, the one of the most banks.
func (p *Planner) Pick(as func(runtime.Shape) (runtime.Plan, error)) (best Choice, err error) {
	choices, err := p.choices(as)
	if err != nil {
		return best, err
	}
	if choices, err = p.unbeaten(choices); err != nil {
		return best, err
	}
	frail := func(c Choice) bool { return c.Plan.Readers < 2 || c.Plan.Geometry.Banks < 3 }
	if slices.ContainsFunc(choices, func(c Choice) bool { return !frail(c) }) {
		choices = slices.DeleteFunc(choices, frail)
	}
	bytes := func(c Choice) int64 { return c.Plan.Geometry.Bytes() }
	smallest := bytes(slices.MinFunc(choices, func(a, b Choice) int { return cmp.Compare(bytes(a), bytes(b)) }))
	choices = slices.DeleteFunc(choices, func(c Choice) bool { return bytes(c) >= 2*smallest })
	grain := func(c Choice) int {
		if cmp.Or(p.Schedule, c.Plan.Schedule) == pager.Guessed {
			return c.Plan.Geometry.Banks
		}
		return c.Plan.Geometry.Group
	}
	best = slices.MinFunc(choices, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(grain(b), grain(a)), cmp.Compare(bytes(a), bytes(b)), cmp.Compare(a.First.Time, b.First.Time))
	})
	return best, nil
}

// unbeaten are those of the fastest that none beats, with their next runs.
func (p *Planner) unbeaten(choices []Choice) (out []Choice, err error) {
	least := slices.MinFunc(choices, func(a, b Choice) int { return cmp.Compare(a.First.Time, b.First.Time) }).First.Time
	choices = slices.DeleteFunc(choices, func(c Choice) bool { return float64(c.First.Time) > worthMemory*float64(least) })
	for i := range choices {
		if choices[i].Next, err = p.next(choices[i]); err != nil {
			return nil, err
		}
	}
	for _, c := range choices {
		if !slices.ContainsFunc(choices, func(o Choice) bool { return o.beats(c) }) {
			out = append(out, c)
		}
	}
	return out, nil
}

// next predicts the runs after the first of a choice: another than that where something is kept for it.
func (p *Planner) next(c Choice) (simulate.Totals, error) {
	if records, table := c.Plan.Pinned(); len(records) == 0 && !table && cmp.Or(p.Schedule, c.Plan.Schedule) != pager.Guessed {
		return c.First, nil
	}
	return p.Predict(c.Plan, false)
}

// Fits returns Pick's error where no shape fits. Without a profile it tells no time.
func (p *Planner) Fits(as func(runtime.Shape) (runtime.Plan, error)) error {
	_, err := p.fitting(as)
	return err
}

// choices are the shapes that fit, with their first runs.
func (p *Planner) choices(as func(runtime.Shape) (runtime.Plan, error)) (out []Choice, err error) {
	plans, err := p.fitting(as)
	if err != nil {
		return nil, err
	}
	for _, plan := range plans {
		c := Choice{Plan: plan}
		if c.First, err = p.Predict(plan, true); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// fitting are plans in the shapes that fit; where none does, in the runtime's own.
func (p *Planner) fitting(as func(runtime.Shape) (runtime.Plan, error)) (out []runtime.Plan, err error) {
	type shape struct {
		readers, chunk int
		pager.Geometry
	}
	seen := map[shape]bool{} // that as has given already: what is given of a shape makes many the same
	for _, s := range p.shapes() {
		plan, err := as(s)
		is := shape{plan.Readers, plan.Chunk, plan.Geometry}
		if errors.Is(err, runtime.ErrMemory) || err == nil && (seen[is] || p.idle(plan)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seen[is] = true
		out = append(out, plan)
	}
	if len(out) == 0 {
		plan, err := as(runtime.Shape{})
		if err != nil {
			return nil, p.priced(plan, err)
		}
		out = append(out, plan)
	}
	return p.mappable(out)
}

// mappable leaves out plans that a session of the accelerator cannot map.
func (p *Planner) mappable(plans []runtime.Plan) ([]runtime.Plan, error) {
	least := int64(math.MaxInt64)
	plans = slices.DeleteFunc(plans, func(plan runtime.Plan) bool {
		n := p.Mapped(plan)
		least = min(least, n)
		return p.Limit > 0 && n > p.Limit
	})
	if len(plans) == 0 {
		return nil, fmt.Errorf("the least that works maps %d bytes of arena and pins, %d allowed: allow as many, or, where a budget is given, give less: %w", least, p.Limit, ErrLimit)
	}
	return plans, nil
}

// idle reports whether a plan has banks that guesses, which are of one layer at a time, never fill.
func (p *Planner) idle(plan runtime.Plan) bool {
	most := 0
	for _, l := range p.Package.Layers {
		most = max(most, l.Experts)
	}
	g := plan.Geometry
	return cmp.Or(p.Schedule, plan.Schedule) == pager.Guessed && g.Banks > 3 && (g.Banks-1)*g.Group > most
}

// priced has the error of a plan that does not fit say how long the least that works takes.
func (p *Planner) priced(least runtime.Plan, err error) error {
	if !errors.Is(err, runtime.ErrMemory) {
		return err
	}
	if p.Profile == nil {
		return fmt.Errorf("%w; no profile is kept to predict its time by", err)
	}
	t, wrong := p.Predict(least, true)
	if wrong != nil {
		return wrong
	}
	return fmt.Errorf("%w; predicted to take %.3f s", err, t.Time.Seconds())
}

// mostGroup is about how many bytes of experts a read may have: no disk gains by more.
const mostGroup = 32 << 20

// shapes are those worth trying.
func (p *Planner) shapes() (out []runtime.Shape) {
	experts, stride := 0, int64(1)
	for _, l := range p.Package.Layers {
		experts, stride = max(experts, l.Experts), max(stride, l.Stride)
	}
	for group := 1; group <= max(1, experts/2); group *= 2 {
		if group > 1 && int64(group)*stride > mostGroup {
			break
		}
		for _, banks := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24} {
			if (banks-1)*group >= max(1, 2*experts) {
				break
			}
			for readers := 1; readers <= 4; readers++ {
				out = append(out, runtime.Shape{Readers: readers, Banks: banks, Group: group})
			}
		}
	}
	return out
}

// budgets is how many budgets Frontier tries from the smallest plan up to a little more than keeps all weights in memory.
const budgets = 12

// Frontier returns choices for prompts of so many tokens of which none is better in memory, first and next run: arenas
// alone, and for each of some budgets the arena with which what it leaves makes the next run fastest. as gives the plan of
// a shape under a budget.
func (p *Planner) Frontier(as func(s runtime.Shape, memory int64) (runtime.Plan, error)) ([]Choice, error) {
	arenas, err := p.choices(func(s runtime.Shape) (runtime.Plan, error) { return as(s, 0) })
	if err != nil {
		return nil, err
	}
	for i := range arenas {
		if arenas[i].Next, err = p.next(arenas[i]); err != nil {
			return nil, err
		}
	}
	arenas = pareto(arenas)
	all, least := arenas, arenas[0].Plan.Bytes()
	for i := int64(1); i <= budgets; i++ {
		var best Choice
		for _, a := range arenas {
			plan, err := as(runtime.Shape{Readers: a.Plan.Readers, Banks: a.Plan.Geometry.Banks, Group: a.Plan.Geometry.Group}, least+p.weights()*i/(budgets-1))
			if err != nil || p.Limit > 0 && p.Mapped(plan) > p.Limit {
				continue // the arena alone is more than that, or what stays in memory is more than can be mapped
			}
			next, err := p.Predict(plan, false)
			if err != nil {
				return nil, err
			}
			if best.Next.Time == 0 || next.Time < best.Next.Time {
				best = Choice{Plan: plan, Next: next}
			}
		}
		if best.Next.Time > 0 {
			if best.First, err = p.Predict(best.Plan, true); err != nil {
				return nil, err
			}
			all = append(all, best)
		}
	}
	return pareto(all), nil
}

// weights is the bytes of all weights.
func (p *Planner) weights() int64 {
	n := p.Package.Table
	for _, l := range p.Package.Layers {
		n += l.Dense + int64(l.Experts)*l.Stride
	}
	for _, h := range p.Package.Head {
		n += h
	}
	return n
}

// pareto leaves out choices that one of no more memory is as good as, 1 % apart, and sorts the rest by memory.
func pareto(all []Choice) (out []Choice) {
	slices.SortStableFunc(all, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Plan.Bytes(), b.Plan.Bytes()), cmp.Compare(a.Next.Time, b.Next.Time), cmp.Compare(a.First.Time, b.First.Time))
	})
	for _, c := range all {
		if !slices.ContainsFunc(out, func(o Choice) bool { return within(o.First.Time, c.First.Time) && within(o.Next.Time, c.Next.Time) }) {
			out = append(out, c)
		}
	}
	return out
}
