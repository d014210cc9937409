package calibrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"estream/lower/static"
	"estream/passes"
)

// A Wish is what Plan is to choose from.
type Wish struct {
	Cost     passes.Cost
	CostFrom string
	Call     int   // experts of a call, as runs have them; 0: all of a layer
	Rows     []int // tiers of rows; none: chosen
	Tiers    int   // most of them, where they are chosen
	Multiple int   // of which they are multiples; 0: so that there are at most 512
	Groups   []int // experts of a launch; 1 is among them
	Host     bool  // the host may run experts
	Drop     bool

	Threshold float64 // of drift, for all layers; 0: by what each layer's batches drift
}

// mostSizes bounds the sizes that tiers are chosen among, where a Wish does not say.
const mostSizes = 512

// Plan returns a calibration of what was counted, one batch at least, for the
// package of an identity.
func (c *Counter) Plan(identity string, w Wish) (*Calibration, error) {
	if c.Batches() == 0 {
		return nil, fmt.Errorf("%d tokens of text, want %d, one batch, or more: give more text, or smaller batches", c.Tokens(), c.batch)
	}
	out := &Calibration{
		Version: version, Package: identity, Tokens: c.Tokens(), Batch: c.batch, Batches: c.Batches(),
		Layers: c.result(), Cost: w.Cost, CostFrom: w.CostFrom,
	}
	for i := range out.Layers {
		out.Layers[i].Threshold = cmp.Or(w.Threshold, out.Layers[i].Threshold)
	}
	p := planner{Wish: w, seen: c.seen(), prior: c.prior()}
	p.layers, _ = c.routed()
	out.Designs = p.designs()
	last := out.Designs[len(out.Designs)-1]
	out.Choice = last.Choice
	return out, out.check()
}

// seen is how often any expert had so many rows of a batch.
func (c *Counter) seen() []passes.Seen {
	times := map[int]int{}
	ls, _ := c.routed()
	for _, l := range ls {
		for rows, n := range l.seen {
			times[rows] += n
		}
	}
	return sorted(times)
}

// prior is a batch of each layer that is routed evenly: no text says all.
func (c *Counter) prior() []passes.Seen {
	times := map[int]int{}
	ls, _ := c.routed()
	for _, l := range ls {
		times[min((c.batch*l.chosen+len(l.counts)-1)/len(l.counts), c.batch)] += len(l.counts)
	}
	return sorted(times)
}

// sorted lists rows that were seen, rising.
func sorted(times map[int]int) []passes.Seen {
	var out []passes.Seen
	for _, rows := range slices.Sorted(maps.Keys(times)) {
		if times[rows] > 0 {
			out = append(out, passes.Seen{Rows: rows, Times: times[rows]})
		}
	}
	return out
}

type planner struct {
	Wish
	layers []*layer
	seen   []passes.Seen
	prior  []passes.Seen
}

// rows chooses tiers by what was seen and the prior.
func (p *planner) rows(seen []passes.Seen, tiers, step int) []int {
	return passes.ChooseRows(slices.Concat(seen, p.prior), tiers, p.Cost, step)
}

// designs are one tier that holds all, and what is gained by each means after the
// other; the last is the wish.
func (p *planner) designs() []Design {
	most := max(p.seen[len(p.seen)-1].Rows, p.prior[len(p.prior)-1].Rows)
	step := p.Multiple
	for p.Multiple == 0 && most > step*mostSizes {
		step = max(1, 2*step)
	}
	step = max(step, 1)
	one := []int{1}
	out := []Design{
		p.judge("one tier for all", Choice{Rows: []int{(most + step - 1) / step * step}, Groups: one}),
		p.judge("best one tier", Choice{Rows: p.rows(p.seen, 1, step), Groups: one}),
	}
	add := func(name string, c Choice) {
		d := p.judge(name, c)
		if len(p.Rows) == 0 {
			d = p.improve(d, step)
		}
		out = append(out, d)
	}
	rows := p.Rows
	if len(rows) == 0 {
		rows = p.rows(p.seen, p.Tiers, step)
	}
	add(tiersName(len(rows)), Choice{Rows: rows, Groups: one})
	if len(p.Groups) > 1 {
		add("and groups", Choice{Rows: out[len(out)-1].Rows, Groups: p.Groups})
	}
	if p.Host {
		add("and the host", Choice{Rows: out[len(out)-1].Rows, Groups: out[len(out)-1].Groups, Host: true})
	}
	if p.Drop {
		c := out[len(out)-1].Choice
		c.Drop = true
		out = append(out, p.judge("and drops", c))
	}
	return out
}

func tiersName(n int) string {
	if n == 1 {
		return "one tier"
	}
	return fmt.Sprintf("%d tiers", n)
}

// improve chooses tiers anew by what launches of d have to hold, while that gains.
func (p *planner) improve(d Design, step int) Design {
	if len(d.Groups) == 1 && !d.Host {
		return d // chosen for just that
	}
	for range 4 {
		c := d.Choice
		c.Rows = p.rows(p.needs(d.Choice), p.Tiers, step)
		better := p.judge(d.Name, c)
		if better.Seconds >= d.Seconds {
			break
		}
		d = better
	}
	return d
}

// needs is how many rows each body of a launch has to hold.
func (p *planner) needs(c Choice) []passes.Seen {
	times := map[int]int{}
	for _, l := range p.layers {
		p.each(l, c, func(launches []passes.Launch, _ passes.Work) {
			for _, x := range launches {
				most := 0
				for _, piece := range x.Pieces {
					most = max(most, piece.To-piece.From)
				}
				times[most] += x.G // none on the host
			}
		})
	}
	return sorted(times)
}

// each calls f with the launches of each call of each batch of a layer that was
// kept, as a static device makes them, and their work.
func (p *planner) each(l *layer, c Choice, f func(launches []passes.Launch, w passes.Work)) {
	cost, tiers := p.Cost, c.Tiers(passes.Tiers{})
	if !c.Host {
		cost = cost.OnDevice()
	}
	for _, batch := range l.kept {
		for call := range slices.Chunk(batch, cmp.Or(p.Call, len(batch))) {
			f(static.Spread(tiers, cost, c.Drop, call))
		}
	}
}

// judge returns what the batches take by a choice.
func (p *planner) judge(name string, c Choice) Design {
	d := Design{Name: name, Choice: c}
	for _, l := range p.layers {
		var sum passes.Work
		p.each(l, c, func(_ []passes.Launch, w passes.Work) { sum.Add(w) })
		d.Layers = append(d.Layers, sum)
		d.Total.Add(sum)
	}
	d.Padding = d.Total.Padding()
	d.Seconds = p.Cost.Of(d.Total) / float64(len(p.layers[0].kept))
	return d
}
