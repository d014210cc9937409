package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"estream/lower"
)

// A Lazy is a Device whose library takes memory for a graph when it first runs, and
// keeps it.
type Lazy interface {
	Patience() time.Duration // how long a Compiled may run graphs ahead of need, so that it is known
}

// firstRun is about what a graph that has not run may take beside its inputs and
// outputs once more: the most that HTP's emulation was seen to take for an expert of
// OLMoE's size of 64 rows, which spills.
const firstRun = 2 << 20

// settling is how many runs, of whatever graphs, take what a library takes once, so that
// how long they take says nothing of the next: 2.51's emulation takes about 28 MiB once, in
// one of its first two runs, seldom in the third.
const settling = 2

// Ready runs graphs that a batch of so many tokens may need once, on zeros, small ones
// first, so that what a Lazy device takes for them is there when the batch's memory is
// planned. It ends when the device's patience, which is for all calls, does; the call that
// uses it up first runs what takes what the library takes once.
func (c *compiled) Ready(ctx context.Context, tokens int) error {
	if _, ok := c.device.(Lazy); !ok {
		return nil
	}
	c.running.Lock()
	defer c.running.Unlock()
	tiers := slices.SortedStableFunc(slices.Values(c.unrun(tokens)), func(a, b *tier) int { return cmp.Compare(a.cost(), b.cost()) })
	if len(tiers) == 0 || c.patience <= 0 {
		return nil
	}
	zeros, err := c.zeros(tiers)
	if err != nil {
		return err
	}
	for ; err == nil && len(tiers) > 0; tiers = tiers[1:] {
		begun := time.Now()
		if err = tiers[0].exec(ctx, tiers[0].zeros(zeros), func(s slot) { clear(s.Bytes()) }, func(slot) {}); err != nil {
			err = fmt.Errorf("%s: graph %s: on zeros: %w", c.device.Name(), tiers[0].graph.Name, err)
		}
		took := time.Since(begun)
		c.readied++
		if c.patience -= took; c.readied > settling && len(tiers) > 1 && float64(took)*tiers[1].cost()/tiers[0].cost() > float64(c.patience) {
			c.patience = 0 // the next would take longer
			break
		}
	}
	return errors.Join(err, zeros.Free())
}

// Pending returns about what memory the graphs that a batch of so many tokens may need
// take when they first run, those that have run apart.
func (c *compiled) Pending(tokens int) int64 {
	if _, ok := c.device.(Lazy); !ok {
		return 0
	}
	c.running.Lock()
	defer c.running.Unlock()
	bytes := int64(0)
	for _, t := range c.unrun(tokens) {
		bytes += t.bytes + firstRun
	}
	return bytes
}

// Working returns the memory that the programs share, which Footprint counts; nil: none.
func (c *compiled) Working() lower.Mem { return c.work }

// unrun lists the tiers that so many tokens may need and that have not run: no call has
// more rows, or more rows before them, than tokens.
func (c *compiled) unrun(tokens int) []*tier {
	var out []*tier
	programs := slices.Collect(maps.Values(c.programs))
	for _, f := range c.fixed {
		programs = append(programs, f.programs...)
	}
	for _, p := range programs {
		rows, past := p.largest(), 0
		for _, t := range slices.Backward(p.tiers) {
			if t.rows >= tokens {
				rows = t.rows
			}
			past = max(past, t.past)
		}
		for _, t := range p.tiers {
			if t.past >= tokens {
				past = min(past, t.past)
			}
		}
		for _, t := range p.tiers {
			if !t.ran && t.rows <= rows && t.past <= past {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b *tier) int { return cmp.Compare(a.graph.Name, b.graph.Name) })
	return out
}

// cost is about what a run takes, to compare tiers by.
func (t *tier) cost() float64 {
	weights := int64(0)
	for _, w := range t.weights {
		weights += t.sizes[w.i]
	}
	return float64(t.rows)*float64(weights) + float64(t.bytes) + 1
}

// zeros is memory that can stand for any weight of the tiers.
func (c *compiled) zeros(tiers []*tier) (lower.Mem, error) {
	most := int64(lower.Align)
	for _, t := range tiers {
		for _, n := range t.sizes {
			most = max(most, n)
		}
	}
	m, err := c.device.Alloc(most, align)
	if err != nil {
		return nil, fmt.Errorf("%s: %d bytes of zeros: %w", c.device.Name(), most, err)
	}
	return m, nil
}

// zeros is a tier's weights, all in one memory.
func (t *tier) zeros(m lower.Mem) []lower.Buffer {
	var bs []lower.Buffer
	for i, w := range t.graph.Weights() {
		bs = append(bs, lower.Buffer{Mem: m, Len: t.sizes[t.weights[i].i], Type: w.Type, Factor: 1})
	}
	return bs
}
