package simulate

import "estream/pager"

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
		routed := p.routed && p.at.stage == p.stage
		if routed {
			p.at.expert = p.nextWanted(p.at.expert)
		}
		if p.at.expert == len(st.Rows) {
			p.at = cursor{stage: p.at.stage + 1}
			continue
		}
		pin := pinned.experts[p.at.expert]
		if pin != nil && pin.state != pager.Available {
			p.at.expert = pin.First + pin.Count
			continue
		}
		if !routed && p.c.Schedule != pager.BeforeRouting {
			return Span{}, nil, false
		}
		if pin != nil {
			return pin.Span, pin, true
		}
		r := Span{Stage: p.at.stage, First: p.at.expert, Count: 1}
		for end := min(len(st.Rows), r.First+p.c.Arena.Group); r.First+r.Count < end; r.Count++ {
			if next := r.First + r.Count; pinned.experts[next] != nil || routed && st.Rows[next] == 0 {
				break
			}
		}
		r.Bytes = int64(r.Count) * st.Stride
		return r, nil, true
	}
	return Span{}, nil, false
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
		if c.Stage != p.stage || c.dropped || c.state != pager.Filling && c.state != pager.Ready || p.nextWanted(c.First) < c.First+c.Count {
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
	c, wait := p.due(dense)
	if wait {
		begun := p.now
		p.trace(WaitBegin, Span{Stage: p.stage, Dense: dense})
		for p.work(); ; p.step() {
			if c, wait = p.due(dense); !wait {
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

// due is the cell to be handed over next, and whether to wait for it.
func (p *pass) due(dense bool) (c *cell, wait bool) {
	p.upcoming() // past pins, though every reader may be busy
	if c = p.duePin(dense); c == nil {
		c = p.lowest(dense)
	}
	switch {
	case c != nil && c.state != pager.Available:
		return c, c.state == pager.Filling
	case c == nil && !dense && (p.at.stage > p.stage || p.nextWanted(p.at.expert) == len(p.c.Stages[p.stage].Rows)):
		return nil, false
	}
	p.asked = true
	return nil, true
}

// lowest is the first cell of the stage, in issue order, that waits to be taken.
func (p *pass) lowest(dense bool) *cell {
	var low *cell
	cells := p.cells(dense)
	for i := range cells {
		c := &cells[i]
		waits := c.Stage == p.stage && !c.dropped && (c.state == pager.Filling || c.state == pager.Ready)
		if waits && (low == nil || c.First < low.First) {
			low = c
		}
	}
	return low
}

// duePin is the pin of the record that is due, or nil.
func (p *pass) duePin(dense bool) *cell {
	pinned := p.pinned[p.stage]
	if dense {
		return pinned.dense[p.taken%len(pinned.dense)]
	}
	if e := p.nextWanted(p.passed); e < len(pinned.experts) {
		return pinned.experts[e]
	}
	return nil
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
