package pager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"estream/pager"
	"estream/pager/pagertest"
)

// TestMetamorphic does random things to a pass, allowed or not, and compares each answer with a plain model: maps of what
// is wanted and held.
func TestMetamorphic(t *testing.T) {
	pagertest.CheckLeaks(t)
	seeds := 200
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newPlain(t, uint64(seed)).run() })
	}
}

// plain is what a pass should be, without readers or cells.
type plain struct {
	t     *testing.T
	rng   *rand.Rand
	m     *pagertest.Model
	c     pager.Config
	mem   []byte
	pass  *pager.Pass
	banks int
	group int
	heads int

	stage, taken int
	routed       bool
	wanted       map[int]bool // of the stage, not yet come
	bytes        int64        // padded, of what came and was wanted
	dense        map[pager.Span]pager.Record
	groups       map[pager.Group]int // to its stage
	stale        []pager.Group
}

func newPlain(t *testing.T, seed uint64) *plain {
	rng := rand.New(rand.NewPCG(seed, 3))
	p := &plain{
		t: t, rng: rng, banks: 1 + rng.IntN(4), group: 1 + rng.IntN(4), heads: rng.IntN(3),
		m: pagertest.New(seed, 16,
			pagertest.Shape{Dense: 1, Experts: 9, Size: 100}, pagertest.Shape{Dense: 3, Experts: 4, Size: 100},
			pagertest.Shape{Experts: 6, Size: 50}, pagertest.Shape{Dense: 3, Size: 50}),
		dense: map[pager.Span]pager.Record{}, groups: map[pager.Group]int{},
	}
	p.c, p.mem = p.m.Config(t, p.banks, p.group, 1+rng.IntN(3))
	p.c.Schedule = pager.BeforeRouting + pager.Schedule(rng.IntN(4))
	if rng.IntN(2) == 0 {
		p.c.Pins = p.m.Pins(rng)
	}
	return p
}

// run does two passes: what the first one pinned, the second does not read.
func (p *plain) run() {
	for range 2 {
		loaded := p.pinned()
		p.begin()
		p.onePass(loaded)
	}
}

func (p *plain) begin() {
	p.pass = start(p.t, p.c, p.heads)
	p.stage, p.taken, p.routed, p.wanted, p.bytes, p.stale = 0, 0, false, nil, 0, nil
	clear(p.dense)
	clear(p.groups)
}

func (p *plain) onePass(loaded int64) {
	ops := []func(){p.next, p.next, p.next, p.next, p.release, p.release, p.takeDense, p.takeDense, p.releaseDense, p.guess, p.guess, p.route, p.endStage, p.cancelled}
	for range 150 {
		ops[p.rng.IntN(len(ops))]()
		p.intact()
	}
	st, err := p.pass.Close()
	if now := p.pinned() - loaded; err != nil || st.Bytes != st.Wasted+p.bytes+now {
		p.t.Fatalf("%v: %+v, %v; %d bytes were wanted, %d pinned", p.c.Schedule, st, err, p.bytes, now)
	}
	if _, err := p.pass.Dense(context.Background()); !errors.Is(err, pager.ErrClosed) {
		p.t.Fatalf("dense after close: %v", err)
	}
}

// pinned is the bytes of all pins that are loaded.
func (p *plain) pinned() int64 {
	n := int64(0)
	for _, pin := range p.c.Pins {
		if pin.Loaded() {
			n += int64(len(pin.Mem))
		}
	}
	return n
}

// pinOf is the pin of a record, or nil.
func (p *plain) pinOf(dense bool, i int) *pager.Pin {
	for _, pin := range p.c.Pins {
		if pin.Stage == p.stage && pin.Dense == dense && pin.First <= i && i < pin.First+pin.Count {
			return pin
		}
	}
	return nil
}

// full reports whether nothing can come of a kind, the next of which is record i.
func (p *plain) full(dense bool, i int) bool {
	pin, held, most := p.pinOf(dense, i), 0, p.banks
	for d := range p.dense {
		if pin != nil && d.Pin == pin {
			return true
		}
		if dense && d.Pin == nil {
			held++
		}
	}
	for g := range p.groups {
		if pin != nil && g.Pin == pin {
			return true
		}
		if !dense && g.Pin == nil {
			held++
		}
	}
	if dense {
		most = 2
	}
	return pin == nil && held == most
}

// over reports whether the last stage has ended.
func (p *plain) over() bool { return p.stage >= len(p.m.Stages) }

func (p *plain) denseLeft() int {
	n := len(p.m.Stages[p.stage].Dense)
	if p.stage == len(p.m.Stages)-1 {
		n *= p.heads
	}
	return n - p.taken
}

func (p *plain) takeDense() {
	d, err := p.pass.Dense(context.Background())
	switch {
	case p.over() || p.denseLeft() == 0:
		p.refused("dense", err, "no dense record")
	case p.full(true, p.taken%len(p.m.Stages[p.stage].Dense)):
		p.refused("dense", err, pager.ErrHeld.Error())
	case err != nil:
		p.t.Fatalf("dense: %v", err)
	default:
		st := p.m.Stages[p.stage]
		if d.Record != p.taken%len(st.Dense) {
			p.t.Fatalf("dense record %d came, want %d", d.Record, p.taken%len(st.Dense))
		}
		p.taken++
		p.dense[d] = st.Dense[d.Record]
		if d.Pin != p.pinOf(true, d.Record) {
			p.t.Fatalf("dense record %d of stage %d came from %+v", d.Record, p.stage, d.Pin)
		}
		if d.Pin == nil {
			p.bytes += p.padded(p.dense[d])
		}
	}
}

func (p *plain) releaseDense() {
	for d := range p.dense {
		delete(p.dense, d)
		p.pass.ReleaseDense(d)
		return
	}
}

func (p *plain) route() {
	if p.over() {
		p.refused("route", p.pass.Route(nil), "after the last stage")
		return
	}
	n := len(p.m.Stages[p.stage].Experts)
	if p.rng.IntN(8) == 0 {
		n++
	}
	wanted := make([]bool, n)
	rows := map[int]bool{}
	for e := range wanted {
		if wanted[e] = p.rng.IntN(2) == 0; wanted[e] {
			rows[e] = true
		}
	}
	err := p.pass.Route(wanted)
	switch {
	case p.routed:
		p.refused("route", err, "routed already")
	case n > len(p.m.Stages[p.stage].Experts):
		p.refused("route", err, "were routed")
	case err != nil:
		p.t.Fatalf("route: %v", err)
	default:
		p.routed, p.wanted = true, rows
	}
	clear(wanted) // the pass has its own copy
}

// guess names experts at random, of this stage or another.
func (p *plain) guess() {
	stage := p.rng.IntN(len(p.m.Stages)+2) - 1
	n := 0
	if stage >= 0 && stage < len(p.m.Stages) {
		n = len(p.m.Stages[stage].Experts)
	}
	more := p.rng.IntN(8) / 7
	experts := p.rng.Perm(n)[:p.rng.IntN(n+1)]
	if more > 0 {
		experts = append(experts, n)
	}
	err := p.pass.Guess(stage, experts)
	switch {
	case stage < p.stage || stage >= len(p.m.Stages) || stage == p.stage && p.routed:
		p.refused("guess", err, "a guess of stage")
	case more > 0:
		p.refused("guess", err, "were guessed")
	case err != nil:
		p.t.Fatalf("guess of stage %d in %d: %v", stage, p.stage, err)
	}
	clear(experts) // the pass has its own copy
}

// ahead reports whether a schedule reads experts before it is known that they are wanted.
func ahead(s pager.Schedule) bool { return s == pager.BeforeRouting || s == pager.Guessed }

func (p *plain) next() {
	g, ok, err := p.pass.Next(context.Background())
	switch {
	case p.over():
		p.refused("next", err, "after the last stage")
	case p.denseLeft() > 0:
		p.refused("next", err, "is not taken")
	case !p.routed:
		p.refused("next", err, "is not routed")
	case len(p.wanted) == 0:
		if ok || err != nil {
			p.t.Fatalf("next at the end of stage %d: %+v, %v, %v", p.stage, g, ok, err)
		}
	case p.full(false, slices.Min(slices.Collect(maps.Keys(p.wanted)))):
		p.refused("next", err, pager.ErrHeld.Error())
	case !ok || err != nil:
		p.t.Fatalf("stage %d, %v wanted: %v, %v", p.stage, p.wanted, ok, err)
	default:
		p.came(g)
	}
}

// came checks a group against what is wanted: nothing wanted stands before it, and it holds something that is.
func (p *plain) came(g pager.Group) {
	rows := 0
	for e := range g.First + g.Count {
		if !p.wanted[e] {
			continue
		}
		if e < g.First {
			p.t.Fatalf("stage %d: %+v came before expert %d", p.stage, g, e)
		}
		if g.Pin != p.pinOf(false, e) {
			p.t.Fatalf("stage %d: expert %d came from %+v", p.stage, e, g.Pin)
		}
		delete(p.wanted, e)
		if g.Pin == nil {
			p.bytes += p.padded(p.m.Stages[p.stage].Experts[e])
		}
		rows++
	}
	if rows == 0 || g.Pin == nil && g.Count > p.group || g.Pin == nil && !ahead(p.c.Schedule) && rows != g.Count {
		p.t.Fatalf("%v, stage %d: %+v came, with %d wanted", p.c.Schedule, p.stage, g, rows)
	}
	p.groups[g] = p.stage
}

func (p *plain) release() {
	if len(p.stale) > 0 && p.rng.IntN(4) == 0 {
		p.pass.Release(p.stale[p.rng.IntN(len(p.stale))])
		return
	}
	for g := range p.groups {
		delete(p.groups, g)
		p.stale = append(p.stale, g)
		p.pass.Release(g)
		return
	}
}

func (p *plain) endStage() {
	if p.rng.IntN(6) > 0 {
		return
	}
	p.pass.EndStage()
	if !p.over() {
		p.stage++
		p.taken, p.routed, p.wanted = 0, false, nil
	}
}

// cancelled asks with a context that is done: nothing comes and nothing changes.
func (p *plain) cancelled() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, ok, err := p.pass.Next(ctx); ok || err == nil {
		p.t.Fatalf("next with a context that is done: %v, %v", ok, err)
	}
}

// intact compares all that is held with its source.
func (p *plain) intact() {
	for d, rec := range p.dense {
		if !bytes.Equal(p.memory(d.Pin)[d.Off:d.Off+d.Len], p.m.Dense.Bytes(rec)) {
			p.t.Fatalf("%s changed while it was held", rec.Name)
		}
	}
	for g, stage := range p.groups {
		for i, rec := range p.m.Stages[stage].Experts[g.First : g.First+g.Count] {
			off := g.Off + int64(i)*g.Stride
			if !bytes.Equal(p.memory(g.Pin)[off:off+rec.Len], p.m.Experts.Bytes(rec)) {
				p.t.Fatalf("%s changed while it was held", rec.Name)
			}
		}
	}
}

func (p *plain) memory(pin *pager.Pin) []byte {
	if pin != nil {
		return pin.Mem
	}
	return p.mem
}

func (p *plain) refused(what string, err error, why string) {
	p.t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		p.t.Fatalf("stage %d: %s: error %v, want %q", p.stage, what, err, why)
	}
}

func (p *plain) padded(rec pager.Record) int64 {
	return (rec.Len + p.m.Align - 1) / p.m.Align * p.m.Align
}
