package pager

import (
	"fmt"
	"slices"
)

// A Pin is memory outside the arena where one run of records stays from pass to pass: it is read once, the first time
// that its turn comes in a pass that wants one of its records, and handed over from there ever after. It serves one
// pass at a time. The memory is the caller's, who frees it after the last pass is closed.
//
// A pin is a cell of its own, with the arena's rules but these:
//
//	N1 it holds the run that it was made for and no other, and is never dropped
//	N2 released, it is Ready again
//	N3 what was not read to its end without an error is read again in the next pass
type Pin struct {
	Stage        int
	Dense        bool // a dense record; else experts
	First, Count int  // records of the stage; 1 where Dense
	Mem          []byte
	cell         cell
}

// Loaded reports whether the records are there. It is not to be called during a pass.
func (p *Pin) Loaded() bool { return p.cell.loaded() }

// loaded reports whether a pin's cell need not be read.
func (c *cell) loaded() bool { return c.err == nil && (c.state == Ready || c.state == InUse) }

// rest makes a pin ready for a new pass.
func (p *Pin) rest() {
	state := Available
	if p.cell.loaded() {
		state = Ready
	}
	p.cell = cell{state: state, use: p.cell.use, pin: p, run: run{stage: p.Stage, first: p.First, count: p.Count, dense: p.Dense}}
}

// stagePins is the pins of a stage, nil where a record has none.
type stagePins struct{ dense, experts []*Pin }

// pin lists the configuration's pins by record.
func (p *Pager) pin() error {
	p.pins = make([]stagePins, len(p.c.Stages))
	for i, st := range p.c.Stages {
		p.pins[i] = stagePins{make([]*Pin, len(st.Dense)), make([]*Pin, len(st.Experts))}
	}
	for _, pin := range p.c.Pins {
		r := run{stage: pin.Stage, first: pin.First, count: pin.Count, dense: pin.Dense}
		if pin.Stage < 0 || pin.Stage >= len(p.pins) {
			return fmt.Errorf("pin of stage %d of %d", pin.Stage, len(p.pins))
		}
		list := p.pins[pin.Stage].experts
		if pin.Dense {
			list = p.pins[pin.Stage].dense
		}
		if pin.First < 0 || pin.Count < 1 || pin.Count > len(list)-pin.First || pin.Dense && pin.Count != 1 {
			return fmt.Errorf("pin of %+v: the stage has %d such records", r, len(list))
		}
		if _, n := p.span(r); n > int64(len(pin.Mem)) || !aligned(pin.Mem, p.c.Arena.Align) {
			return fmt.Errorf("pin of %s: %d bytes of memory for %d, at a multiple of %d", p.name(r), len(pin.Mem), n, p.c.Arena.Align)
		}
		if at := list[pin.First : pin.First+pin.Count]; slices.ContainsFunc(at, func(o *Pin) bool { return o != nil }) {
			return fmt.Errorf("two pins of %s", p.name(r))
		}
		for i := range pin.Count {
			list[pin.First+i] = pin
		}
	}
	return nil
}

// pinOf is the pin of a run that the cursor met; nil: none.
func (p *Pager) pinOf(r run) *Pin {
	if r.dense {
		return p.densePin(r.stage, r.first)
	}
	return p.pins[r.stage].experts[r.first]
}

// densePin is the pin of a dense record, which counts on through the repeats of the head; nil: none.
func (p *Pager) densePin(stage, i int) *Pin {
	pins := p.pins[stage].dense
	return pins[i%len(pins)]
}
