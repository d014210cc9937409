package simulate

import (
	"slices"

	"estream/pager"
)

// upcoming is the run at the cursor, which moves on over what is not to be read, and its pin, if it has one.
func (p *pass) upcoming() (Span, *cell, bool) {
	for p.at.stage < len(p.c.Stages) {
		st, pinned := &p.c.Stages[p.at.stage], p.pinned[p.at.stage]
		if p.at.dense < p.denseCount(p.at.stage) {
			i := p.at.dense % len(st.Dense)
			pin := pinned.dense[i]
			if pin == nil || pin.state == pager.Available {
				return Span{p.at.stage, true, p.at.dense, 1, st.Dense[i].Bytes}, pin, true
			}
			p.at.dense++
			continue
		}
		e, later := p.nextExpert(pinned.experts)
		switch {
		case later:
			r, ok := p.likeliest(pinned.experts)
			return r, nil, ok
		case e < len(st.Rows):
			p.at.expert = e
			r, pin := p.cut(pinned.experts, e)
			return r, pin, true
		}
		p.at = cursor{stage: p.at.stage + 1}
	}
	return Span{}, nil, false
}

// known reports whether a stage is routed.
func (p *pass) known(stage int) bool { return p.routed && stage == p.stage }

// guessing reports whether what is read of a stage's experts now are guesses, which do not move the cursor.
func (p *pass) guessing(stage int) bool { return p.c.Schedule == pager.Guessed && !p.known(stage) }

// nextExpert is the first expert from the cursor on that is to be read, or the number of the stage's; later tells that
// some may be once routes are known.
func (p *pass) nextExpert(pins []*cell) (e int, later bool) {
	for e = p.at.expert; e < len(pins) && !p.due(pins, e); e++ {
		loaded := pins[e] != nil && pins[e].state != pager.Available
		later = later || !loaded && !p.known(p.at.stage)
	}
	return e, later
}

// due reports whether an expert of the cursor's stage is to be read, guesses apart.
func (p *pass) due(pins []*cell, e int) bool {
	pin := pins[e]
	switch {
	case pin != nil && pin.state != pager.Available:
		return false
	case p.known(p.at.stage):
		return p.c.Stages[p.at.stage].Rows[e] > 0 && (pin != nil || p.holding(p.at.stage, e, false) == nil)
	}
	return p.c.Schedule == pager.BeforeRouting
}

// cut is the run to be read that begins with an expert, and its pin, if it has one.
func (p *pass) cut(pins []*cell, e int) (Span, *cell) {
	if pin := pins[e]; pin != nil {
		return pin.Span, pin
	}
	end := e + 1
	for end < min(len(pins), e+p.c.Arena.Group) && pins[end] == nil && p.due(pins, end) {
		end++
	}
	return Span{Stage: p.at.stage, First: e, Count: end - e, Bytes: int64(end-e) * p.c.Stages[p.at.stage].Stride}, nil
}

// likeliest is the likeliest expert that was guessed of the cursor's stage and is in no cell.
func (p *pass) likeliest(pins []*cell) (Span, bool) {
	if p.c.Schedule == pager.Guessed && p.guessed == p.at.stage {
		for _, e := range p.guess {
			if pins[e] == nil && p.holding(p.at.stage, e, false) == nil {
				return Span{Stage: p.at.stage, First: e, Count: 1, Bytes: p.c.Stages[p.at.stage].Stride}, true
			}
		}
	}
	return Span{}, false
}

// guessOf is the next stage, from one on, that has experts; -1: none.
func (p *pass) guessOf(from int) int {
	for i := from; i < len(p.c.Stages); i++ {
		if len(p.c.Stages[i].Rows) > 0 {
			return i
		}
	}
	return -1
}

// tell has the consumer guess the experts of the next stage that has some.
func (p *pass) tell(guess []int, from int) {
	if guess == nil || p.c.Schedule != pager.Guessed {
		return
	}
	p.guess, p.guessed = guess, p.guessOf(from)
	p.work()
}

// available is a free cell for a run, nil where there is none, or guesses have all banks but one.
func (p *pass) available(r Span) *cell {
	if !r.Dense && p.guessing(r.Stage) {
		n := 0
		for _, c := range p.banks {
			if p.waits(&c, r.Stage) && c.First+c.Count > p.at.expert {
				n++
			}
		}
		if n >= len(p.banks)-1 {
			return nil
		}
	}
	cells := p.cells(r.Dense)
	if i := slices.IndexFunc(cells, func(c cell) bool { return c.state == pager.Available }); i >= 0 {
		return &cells[i]
	}
	return nil
}

func (p *pass) denseCount(stage int) int {
	n := len(p.c.Stages[stage].Dense)
	if stage == len(p.c.Stages)-1 {
		n *= p.c.Heads
	}
	return n
}

// nextWanted is the first expert from e on that the consumer's stage wants, or the number of its experts.
func (p *pass) nextWanted(e int) int {
	rows := p.c.Stages[p.stage].Rows
	for e < len(rows) && rows[e] == 0 {
		e++
	}
	return e
}

// dropUnwanted gives up what was read of experts that turn out to be unwanted.
func (p *pass) dropUnwanted() {
	for i := range p.banks {
		c := &p.banks[i]
		if !p.waits(c, p.stage) || p.nextWanted(c.First) < c.First+c.Count {
			continue
		}
		p.totals.Dropped++
		if c.state == pager.Filling {
			c.dropped = true
		} else {
			p.totals.Wasted += c.Bytes
			p.free(c)
		}
		p.trace(Drop, c.Span)
	}
}

// take waits for the consumer's next record or group; nil is the end of the stage.
func (p *pass) take(dense bool) *cell {
	c, wait := p.coming(dense)
	if wait {
		begun := p.now
		p.trace(WaitBegin, Span{Stage: p.stage, Dense: dense})
		for p.work(); ; p.step() {
			if c, wait = p.coming(dense); !wait {
				break
			}
		}
		p.totals.Wait += p.now - begun
		p.trace(WaitEnd, Span{Stage: p.stage, Dense: dense})
	}
	if c != nil {
		c.state = pager.InUse
		p.trace(Take, c.Span)
	}
	return c
}

// coming is the cell to be handed over next, and whether to wait for it.
func (p *pass) coming(dense bool) (c *cell, wait bool) {
	p.upcoming() // past pins, though every reader may be busy
	next := p.taken
	if !dense {
		if next = p.nextWanted(p.passed); next == len(p.c.Stages[p.stage].Rows) {
			return nil, false
		}
	}
	if c = p.holding(p.stage, next, dense); c != nil && c.state != pager.Available {
		return c, c.state == pager.Filling
	}
	p.asked = true
	return nil, true
}

// holding is the cell in which a record waits to be taken, or the one of its pin; nil: none.
func (p *pass) holding(stage, i int, dense bool) *cell {
	pins := p.pinned[stage].experts
	if dense {
		pins = p.pinned[stage].dense
	}
	if pin := pins[i%len(pins)]; pin != nil {
		return pin
	}
	cells := p.cells(dense)
	for j := range cells {
		if c := &cells[j]; p.waits(c, stage) && c.First <= i && i < c.First+c.Count {
			return c
		}
	}
	return nil
}

// waits reports whether a cell holds, or will hold, records of a stage for the consumer to take.
func (p *pass) waits(c *cell, stage int) bool {
	return c.Stage == stage && !c.dropped && (c.state == pager.Filling || c.state == pager.Ready)
}

// release gives a cell back.
func (p *pass) release(c *cell) {
	if c.pin != nil {
		c.state = pager.Ready
	} else {
		p.free(c)
	}
	p.trace(Release, c.Span)
	p.work()
}
