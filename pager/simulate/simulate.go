// Package simulate runs a pass of package pager on paper: the same rules (issue order, cells, drops, pins) on a clock that
// stands still but for reads and computation of given length. So schedules can be looked at as text, and a machine that is
// not there, or a geometry that nobody has tried, costs a millisecond to try.
//
// What a pass does follows from its Config alone. Between two actions of the consumer the readers do all that they can; a
// read that ends when the consumer acts has ended before. A stage's dense records are taken in turn, each computed on and
// released when the next is needed; the last is held until the stage ends, as a layer's is while its experts run.
package simulate

import (
	"fmt"
	"time"

	"estream/pager"
)

// A Config is a pass to be simulated.
type Config struct {
	Arena    pager.Geometry // its alignment is of no interest
	Schedule pager.Schedule
	Readers  int // Q, at least 1
	Disk     Disk
	Drag     float64 // by how much computing takes longer while something is read; 0: by nothing
	Pins     []Pin

	Fetch  []int64       // bytes of each read that the consumer has done before the first stage
	Depth  int           // how many of them at a time; 0 is 1
	Embed  time.Duration // computed after that
	Stages []Stage
	Heads  int // how often the last stage's dense records come

	Trace func(Event) // is told what happens, in order; nil: nobody is
}

// A Stage is one step through the model: what is read and how long it is computed on.
type Stage struct {
	Dense  []Dense
	Stride int64                          // bytes of an expert's record in its file
	Rows   []int                          // that are routed to each expert; nobody wants one with 0
	Group  func(rows []int) time.Duration // computing the experts of a group that have rows; nil: none
	Side   time.Duration                  // between routing and the first group
	Tail   time.Duration                  // after the last

	// Guesses of experts, the likeliest first, of the next stage that has some: when this stage begins, which may be its
	// own, and when it is routed, of one after it. nil: none.
	Before, After []int
}

// A Dense is a record that is always needed, and the computation between it and what comes next: of a layer, until routes
// are known.
type Dense struct {
	Bytes int64
	Time  time.Duration
}

// A Pin is records that stay in memory outside the arena, as pager.Pin.
type Pin struct {
	Stage        int
	Dense        bool
	First, Count int
	Loaded       bool // they are there when the pass begins
}

// Totals is what a pass took.
type Totals struct {
	Time    time.Duration // of all of it
	Reads   time.Duration // of the same reads with nothing computed
	Compute time.Duration // of the same computation with nothing read
	Wait    time.Duration // the consumer waited for a read
	Bytes   int64         // read
	Wasted  int64         // of records that nobody wanted
	Count   int           // of reads
	Dropped int           // cells given up
	Peak    int64         // most bytes that cells of the arena held at a time
}

// Bubble is the share of the time in which neither reads nor computation limit: 1 - max(Reads, Compute)/Time.
func (t Totals) Bubble() float64 {
	if t.Time <= 0 {
		return 0
	}
	return 1 - float64(max(t.Reads, t.Compute))/float64(t.Time)
}

// Run simulates a pass. An error tells of a Config that no pass could run.
func Run(c Config) (Totals, error) {
	p := &pass{c: c, guessed: -1}
	if err := p.start(); err != nil {
		return Totals{}, fmt.Errorf("simulate: %w", err)
	}
	p.fetch()
	for p.stage < len(c.Stages) {
		p.layer()
		p.stage, p.taken, p.passed, p.routed = p.stage+1, 0, 0, false
		if p.at.stage < p.stage {
			p.at = cursor{stage: p.stage}
		}
		p.work()
	}
	p.totals.Time = p.now
	for len(p.flying) > 0 { // what nobody waits for
		p.step()
	}
	p.totals.Reads = p.replay()
	return p.totals, nil
}

// fetch is what comes before the first stage.
func (p *pass) fetch() {
	p.work()
	to := make([]cell, max(1, p.c.Depth))
	wait := func(c *cell) {
		for c.state == pager.Filling {
			p.step()
		}
	}
	for i, n := range p.c.Fetch {
		c := &to[i%len(to)]
		wait(c)
		p.begin(Span{Stage: -1, Dense: true, First: i, Count: 1, Bytes: n}, c, false)
	}
	for i := range to {
		wait(&to[i])
	}
	p.compute(p.c.Embed, Span{Stage: -1, Dense: true})
}

// layer is what the consumer does in a stage.
func (p *pass) layer() {
	st := &p.c.Stages[p.stage]
	p.tell(st.Before, p.stage)
	var held *cell
	for i := range p.denseCount(p.stage) {
		if held != nil {
			p.release(held)
		}
		held = p.take(true)
		p.taken++
		p.compute(st.Dense[i%len(st.Dense)].Time, held.Span)
	}
	if len(st.Rows) > 0 {
		p.mixture(st)
	}
	if held != nil {
		p.release(held)
	}
}

// mixture is the routed half of a layer.
func (p *pass) mixture(st *Stage) {
	p.routed = true
	p.dropUnwanted()
	p.work()
	p.tell(st.After, p.stage+1)
	all := Span{Stage: p.stage}
	p.compute(st.Side, all)
	for c := p.take(false); c != nil; c = p.take(false) {
		p.passed = c.First + c.Count
		p.rows = p.rows[:0]
		for _, n := range st.Rows[c.First:p.passed] {
			if n > 0 {
				p.rows = append(p.rows, n)
			}
		}
		if c.pin == nil {
			p.totals.Wasted += int64(c.Count-len(p.rows)) * st.Stride
		}
		if st.Group != nil {
			p.compute(st.Group(p.rows), c.Span)
		}
		p.release(c)
	}
	p.compute(st.Tail, all)
}
