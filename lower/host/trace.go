package host

import "time"

// An Event is one instruction of a Run, or one step of a gated body over the rows
// of a group.
type Event struct {
	Graph string
	Op    string // its name
	Value string // what it computes, as ir.Value.Label has it
	Work
	Idle       time.Duration // of all threads together, while it ran
	Start, End time.Time
}

// run runs an instruction of graph and tells of it where somebody asks.
func (c *compiled) run(graph string, in *instruction) error {
	if c.backend.trace == nil {
		return in.run(&in.Exec)
	}
	op := "copy"
	if in.Op != nil {
		op = in.Op.Name
	}
	e := c.begin(graph, op, in.label)
	err := in.run(&in.Exec)
	e.End = time.Now()
	e.Work = work(&in.Exec)
	c.tell(e)
	return err
}

// begin begins an event.
func (c *compiled) begin(graph, op, value string) Event {
	c.pool.idle.Store(0)
	return Event{Graph: graph, Op: op, Value: value, Start: time.Now()}
}

// tell tells of an event that has ended.
func (c *compiled) tell(e Event) {
	e.Idle = e.End.Sub(e.Start)*time.Duration(c.pool.threads-1) + time.Duration(c.pool.idle.Load())
	c.backend.trace(e)
}

// count makes the pool count in idle how long its owner waits for the members of
// the team, less the time that they work.
func (p *pool) count() {
	p.counts = true
	p.team.work = func() {
		begun := time.Now()
		p.take()
		p.idle.Add(-int64(time.Since(begun)))
	}
}

// join waits for the members that joined in a loop.
func (p *pool) join() {
	if !p.counts {
		p.team.close()
		return
	}
	begun := time.Now()
	p.team.close()
	p.idle.Add(int64(time.Since(begun)))
}

// The steps of a gated body.
const (
	gatherStep = iota
	gateUpStep
	quantizeStep
	downStep
)

// step runs step i of the body and tells of it where somebody asks:
// gate_up has silu(gate)*up in it, down the sum into y.
func (r *gatedRun) step(p *program, i int, f func(*gatedRun) error) error {
	if p.c.backend.trace == nil || i == quantizeStep && !r.quantized() {
		return f(r)
	}
	op := [...]string{"gather_rows", "gate_up", "quantize", "down"}[i]
	e := p.c.begin(p.graph.Name, op, op)
	err := f(r)
	e.End = time.Now()
	e.Work = r.work(i)
	p.c.tell(e)
	return err
}
