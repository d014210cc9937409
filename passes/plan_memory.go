package passes

import (
	"fmt"

	"estream/ir"
)

// planMemory gives a slot to each value of a host graph that needs working
// memory. A slot is as large as its largest value at a call's extents.
//
// Inputs, weights and outputs have none: they live in the call's buffers. A
// value that lies in another one (Graph.Homes) has that one's slot, or none if
// that is a buffer.
func planMemory(m *ir.Module) error {
	for _, g := range m.Graphs {
		for _, v := range g.Values {
			v.Slot = 0
		}
		if g.On != "" {
			continue
		}
		if err := (&planner{g: g}).plan(); err != nil {
			return fmt.Errorf("graph %s: %w", g.Name, err)
		}
	}
	return nil
}

type planner struct {
	g    *ir.Graph
	size []float64 // of each slot, so far
	free []bool    // of each slot, now
}

func (p *planner) plan() error {
	home, output := p.g.Homes(), setOf(p.g.Outputs...)
	last := map[*ir.Value]int{} // where a home is last read or written
	for i, v := range p.g.Values {
		last[home[v]] = i
		for _, a := range v.Args {
			last[home[a]] = i
		}
		if output[v] && home[v] != v && home[v].Op != ir.Input {
			return fmt.Errorf("output %s is written over %s, which is no input: return a copy of it", v.Label(), home[v].Label())
		}
	}
	ends := make([][]*ir.Value, len(p.g.Values))
	for v, i := range last {
		ends[i] = append(ends[i], v)
	}
	for i, v := range p.g.Values {
		switch {
		case home[v] != v:
			v.Slot = home[v].Slot
		case !isSource(v) && !output[v]:
			v.Slot = p.take(nominalSize(v.Type))
		}
		for _, dead := range ends[i] {
			if dead.Slot > 0 {
				p.free[dead.Slot-1] = true
			}
		}
	}
	return nil
}

// take returns a slot that is free: the one that the value fills best, or a new one.
func (p *planner) take(size float64) int {
	best := -1
	for i, free := range p.free {
		if free && (best < 0 || p.better(size, p.size[i], p.size[best])) {
			best = i
		}
	}
	if best < 0 {
		best = len(p.free)
		p.free, p.size = append(p.free, false), append(p.size, 0)
	}
	p.free[best], p.size[best] = false, max(p.size[best], size)
	return best + 1
}

// better reports whether a slot of size a suits a value of a size better than b:
// the smallest that holds it, else the largest.
func (p *planner) better(size, a, b float64) bool {
	switch {
	case a >= size && b >= size:
		return a < b
	case a < size && b < size:
		return a > b
	}
	return a >= size
}

// nominalSize is the bits that a value takes where every symbol is 256: for
// comparing values only, for the extents of a call are not known.
func nominalSize(t ir.Type) float64 {
	n := float64(t.DType.Bits())
	for _, d := range t.Dims {
		if d.Sym != "" {
			n *= 256
		}
		n *= float64(max(d.N, 1))
	}
	for _, p := range t.Parts {
		n += nominalSize(p)
	}
	return n
}
