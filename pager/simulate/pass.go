package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"estream/pager"
)

// pass is a pass under way: the cells and cursor of pager.Pass, with its readers' reads in flight.
type pass struct {
	c            Config
	slots, banks []cell
	pins         []cell
	pinned       []pinned // of each stage
	line         line
	now          time.Duration
	idle         int // readers
	flying       []flight
	reads        []Span // so far, in the order in which they began
	held         int64  // bytes in cells of the arena
	rows         []int
	totals       Totals

	at     cursor // of the readers
	stage  int    // of the consumer, as what follows
	taken  int
	passed int
	routed bool
	asked  bool

	guessed int   // the stage that guess is of; -1: none
	guess   []int // experts of it, the likeliest first
}

type cell struct {
	state   pager.State
	dropped bool
	pin     *Pin // whose cell this is; nil: the arena's
	Span
}

// pinned is the pins of a stage, nil where a record has none.
type pinned struct{ dense, experts []*cell }

// A flight is a read in flight.
type flight struct {
	end    time.Duration
	to     *cell
	reader bool // else the consumer does it
}

// A cursor is a place in issue order.
type cursor struct{ stage, dense, expert int }

// start checks the configuration and makes the cells.
func (p *pass) start() error {
	a := p.c.Arena
	p.c.Schedule = cmp.Or(p.c.Schedule, pager.BeforeRouting)
	if p.c.Readers < 1 || p.c.Heads < 0 {
		return fmt.Errorf("%d readers, %d heads", p.c.Readers, p.c.Heads)
	}
	for i, st := range p.c.Stages {
		p.pinned = append(p.pinned, pinned{make([]*cell, len(st.Dense)), make([]*cell, len(st.Rows))})
		for _, d := range st.Dense {
			if d.Bytes > a.DenseSlot {
				return fmt.Errorf("stage %d: dense record of %d bytes, slots of %d", i, d.Bytes, a.DenseSlot)
			}
		}
		if len(st.Rows) > 0 && (a.Banks < 1 || a.Group < 1 || st.Stride > a.Stride) {
			return fmt.Errorf("stage %d: experts of %d bytes in %d banks of %d times %d", i, st.Stride, a.Banks, a.Group, a.Stride)
		}
	}
	if err := p.checkGuesses(); err != nil {
		return err
	}
	p.slots, p.banks, p.pins = make([]cell, 2), make([]cell, a.Banks), make([]cell, len(p.c.Pins))
	p.idle, p.line = p.c.Readers, line{Disk: p.c.Disk}
	for i := range p.c.Pins {
		if err := p.pin(&p.c.Pins[i], &p.pins[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) checkGuesses() error {
	for i, st := range p.c.Stages {
		for j, guess := range [][]int{st.Before, st.After} {
			if len(guess) == 0 {
				continue
			}
			of := p.guessOf(i + j)
			if of < 0 || slices.Min(guess) < 0 || slices.Max(guess) >= len(p.c.Stages[of].Rows) {
				return fmt.Errorf("stage %d: a guess of experts %v, which do not follow", i, guess)
			}
		}
	}
	return nil
}

func (p *pass) pin(pin *Pin, c *cell) error {
	if pin.Stage < 0 || pin.Stage >= len(p.pinned) {
		return fmt.Errorf("pin of stage %d of %d", pin.Stage, len(p.pinned))
	}
	st, list := &p.c.Stages[pin.Stage], p.pinned[pin.Stage].experts
	if pin.Dense {
		list = p.pinned[pin.Stage].dense
	}
	if pin.First < 0 || pin.Count < 1 || pin.Count > len(list)-pin.First || pin.Dense && pin.Count > 1 {
		return fmt.Errorf("pin %+v: the stage has %d such records", *pin, len(list))
	}
	c.pin, c.Span = pin, Span{pin.Stage, pin.Dense, pin.First, pin.Count, int64(pin.Count) * st.Stride}
	if pin.Dense {
		c.Bytes = st.Dense[pin.First].Bytes
	}
	if pin.Loaded {
		c.state = pager.Ready
	}
	for i := range pin.Count {
		if list[pin.First+i] != nil {
			return fmt.Errorf("pin %+v: another has its records", *pin)
		}
		list[pin.First+i] = c
	}
	return nil
}

func (p *pass) cells(dense bool) []cell {
	if dense {
		return p.slots
	}
	return p.banks
}

// work lets idle readers begin what reads they can.
func (p *pass) work() {
	for p.idle > 0 && (p.asked || p.c.Schedule != pager.OnDemand) {
		r, to, ok := p.upcoming()
		if ok && to == nil {
			to = p.available(r)
		}
		if to == nil {
			return
		}
		p.asked = false
		switch {
		case r.Dense:
			p.at.dense++
		case !p.guessing(r.Stage):
			p.at.expert = r.First + r.Count
		}
		p.idle--
		p.begin(r, to, true)
	}
}

// begin begins a read.
func (p *pass) begin(r Span, to *cell, reader bool) {
	to.state, to.Span = pager.Filling, r
	if reader && to.pin == nil {
		p.held += r.Bytes
		p.totals.Peak = max(p.totals.Peak, p.held)
	}
	p.reads = append(p.reads, r)
	p.totals.Count++
	p.totals.Bytes += r.Bytes
	p.flying = append(p.flying, flight{p.line.read(p.now, r), to, reader})
	p.trace(ReadBegin, r)
}

// step goes on to when the next read ends.
func (p *pass) step() { p.until(p.next().end) }

// next is the read in flight that ends first, of several the one that began first.
func (p *pass) next() flight {
	return slices.MinFunc(p.flying, func(a, b flight) int { return cmp.Compare(a.end, b.end) })
}

// until goes on to a time, past all reads that end by then.
func (p *pass) until(t time.Duration) {
	for len(p.flying) > 0 && p.next().end <= t {
		p.land(p.next())
	}
	p.now = t
}

// land ends a read.
func (p *pass) land(f flight) {
	p.flying = slices.DeleteFunc(p.flying, func(o flight) bool { return o.to == f.to })
	p.now = f.end
	f.to.state = pager.Ready
	if f.reader {
		p.idle++
	}
	r := f.to.Span
	if f.to.dropped {
		p.totals.Wasted += r.Bytes
		p.free(f.to)
	}
	p.trace(ReadEnd, r)
	p.work()
}

func (p *pass) compute(d time.Duration, r Span) {
	if d <= 0 {
		return
	}
	p.totals.Compute += d
	p.trace(ComputeBegin, r)
	slow := 1 + p.c.Drag
	for len(p.flying) > 0 { // d is what is left to do
		f := p.next()
		done := time.Duration(float64(f.end-p.now) / slow)
		if done >= d {
			d = time.Duration(float64(d) * slow)
			break
		}
		d -= done
		p.until(f.end)
	}
	p.until(p.now + d)
	p.trace(ComputeEnd, r)
}

// free gives a cell of the arena back.
func (p *pass) free(c *cell) {
	p.held -= c.Bytes
	c.state, c.dropped = pager.Available, false
}
