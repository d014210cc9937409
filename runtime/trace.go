package runtime

import (
	"fmt"
	"time"

	"estream/lower"
	"estream/pager"
)

// An EventKind says what an Event tells of.
type EventKind uint8

const (
	ProgramRan  EventKind = iota // a program, on one chunk of rows or one group of experts
	RecordsUsed                  // records of weights, from being handed over until they were given back
	BatchRan                     // all of a Run, also one that failed
)

func (k EventKind) String() string {
	if k > BatchRan {
		return fmt.Sprintf("EventKind(%d)", uint8(k))
	}
	return [...]string{"program", "use", "batch"}[k]
}

// An Event is something that a run did; pager.Event tells of its reads and waits,
// host.Event of the instructions of its programs.
type Event struct {
	Kind         EventKind
	Layer        int    // -1 for the embeddings, the number of layers for the head
	Graph        string // of a program
	On           string // the backend that it ran on
	Rows         int    // of a program's input, or of all experts of a group; of a batch its tokens
	Dense        bool   // records used: dense, else experts
	First, Count int    // records used, or the experts of a group
	Cell         int    // that the records were in: 0 and 1 are dense slots, then come the banks; -1 where they are pinned
	Start, End   time.Time
}

// ran tells of a program.
func (r *run) ran(p *phase, c *lower.Call, begun, end time.Time) {
	if r.m.opt.Events == nil {
		return
	}
	e := Event{Kind: ProgramRan, Layer: r.at, Graph: p.graph.Name, On: p.graph.On, Start: begun, End: end}
	if e.On == "" {
		e.On = r.m.opt.Host.Name()
	}
	if len(c.In) > 0 && c.In[0].Type.Rank() > 0 {
		e.Rows = c.In[0].Type.Dims[0].N
	}
	if len(c.Group) > 0 {
		e.Rows = 0
		for _, x := range c.Group {
			e.Rows += len(x.Rows)
		}
		e.First, e.Count = r.members[0], r.members[len(r.members)-1]-r.members[0]+1
	}
	r.m.opt.Events(e)
}

// releaseDense gives a dense record back that was handed over at the given time.
func (r *run) releaseDense(s pager.Span, taken time.Time) {
	g := r.plan.Geometry
	r.used(Event{Dense: true, First: s.Record, Count: 1, Start: taken}, s.Pin, s.Off, g.DenseSlot)
	r.pass.ReleaseDense(s)
}

// release gives a group back that was handed over at the given time.
func (r *run) release(g pager.Group, taken time.Time) {
	slots := 2 * r.plan.Geometry.DenseSlot
	r.used(Event{First: g.First, Count: g.Count, Start: taken}, g.Pin, g.Off-slots, int64(r.plan.Geometry.Group)*r.plan.Geometry.Stride)
	r.pass.Release(g)
}

// used tells of records that were in a cell of the given size, at an offset among
// the cells of its kind.
func (r *run) used(e Event, pin *pager.Pin, off, size int64) {
	if r.m.opt.Events == nil {
		return
	}
	e.Kind, e.Layer, e.End = RecordsUsed, r.at, time.Now()
	switch {
	case pin != nil:
		e.Cell = -1
	case e.Dense:
		e.Cell = int(off / size)
	default:
		e.Cell = 2 + int(off/size)
	}
	r.m.opt.Events(e)
}

// done tells of the batch.
func (r *run) done(begun time.Time) {
	if r.m.opt.Events != nil {
		r.m.opt.Events(Event{Kind: BatchRan, Rows: r.plan.Tokens, Start: begun, End: time.Now()})
	}
}
