package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
)

// A class is what layers of one shape share.
type class struct {
	name   string
	phases map[string]*phase // those that the class has
	record passes.Record     // of the layer's dense weights
	callee *phase            // the expert graph; nil for a dense layer
	expert passes.Record     // of one expert
	routed *ir.Value         // the experts op
	early  *phase            // guesses the routes; nil: nothing does
	n      int               // experts of a layer
	state  ir.Type           // of a layer's memory; DType Invalid: none
	frame  frame             // where the values that cross phases stand
}

// A phase is one program with where its weights lie.
type phase struct {
	graph   *ir.Graph
	program lower.Program
	weights []weightPlace
}

type weightPlace struct {
	offset, size int64
	typ          ir.Type
	factor       int // index in the record's factors
}

// bind finds the phases of each class and checks them against the records.
func (m *Model) bind(records map[string]passes.Record, packing lower.Packing) error {
	m.classes = map[string]*class{}
	for l, name := range m.module.Layers {
		if m.classes[name] == nil {
			c, err := m.newClass(name, records)
			if err != nil {
				return err
			}
			m.classes[name] = c
		}
		m.layers = append(m.layers, m.classes[name])
		if err := m.checkLayer(l, m.classes[name]); err != nil {
			return err
		}
	}
	var err error
	if m.norm, err = m.phase(passes.HeadNorm, records[passes.HeadNorm]); err != nil {
		return err
	}
	if m.proj, err = m.phase(passes.HeadProj, records[passes.HeadProj]); err != nil {
		return err
	}
	if m.embed, err = m.phase(passes.EmbedGraph, passes.Record{}); err != nil {
		return err
	}
	if err := m.bindEnds(records, packing); err != nil {
		return err
	}
	m.buildStages()
	return m.checkSignatures()
}

func (m *Model) newClass(name string, records map[string]passes.Record) (*class, error) {
	c := &class{name: name, phases: map[string]*phase{}, record: records[name]}
	for _, p := range passes.Phases() {
		if m.module.Graph(name+"."+p) == nil {
			continue
		}
		ph, err := m.phase(name+"."+p, c.record)
		if err != nil {
			return nil, err
		}
		c.phases[p] = ph
	}
	body := c.phases[passes.BodyPhase]
	if body == nil {
		return nil, fmt.Errorf("module: layer class %s has no body", name)
	}
	if s := body.graph.Value("state"); s != nil {
		c.state = s.Type
	}
	if e := c.phases[passes.ExpertsPhase]; e != nil {
		if len(e.graph.Outputs) != 1 {
			return nil, fmt.Errorf("module: graph %s has %d outputs, want one", e.graph.Name, len(e.graph.Outputs))
		}
		c.routed = e.graph.Outputs[0]
		attr, ok := c.routed.Attr.(ir.ExpertsAttr)
		if !ok || attr.Callee == "" || c.phases[passes.RoutePhase] == nil {
			return nil, fmt.Errorf("module: layer class %s: experts without a callee or a route", name)
		}
		var err error
		if _, c.n, err = passes.Routed(m.module, name); err != nil {
			return nil, fmt.Errorf("module: %w", err)
		}
		c.expert = records[attr.Callee]
		if c.callee, err = m.phase(attr.Callee, c.expert); err != nil {
			return nil, err
		}
	}
	if m.module.Graph(name+"."+passes.EarlyPhase) != nil {
		var err error
		if c.early, err = m.phase(name+"."+passes.EarlyPhase, c.record); err != nil {
			return nil, err
		}
	}
	return c, c.newFrame(m.opt.Taps)
}

// phase compiles nothing: it looks the program of a graph up, and its weights in
// the record they lie in.
func (m *Model) phase(graph string, rec passes.Record) (*phase, error) {
	g := m.module.Graph(graph)
	if g == nil {
		return nil, fmt.Errorf("module: no graph %s", graph)
	}
	p := &phase{graph: g}
	on := m.host
	if m.device != nil && g.On == m.opt.Device.Name() {
		on = m.device
	}
	var err error
	if !strings.HasSuffix(graph, "."+passes.ExpertsPhase) {
		if p.program, err = on.Program(graph); err != nil {
			return nil, err
		}
	}
	for _, w := range g.Weights() {
		place := weightPlace{typ: w.Type, factor: -1}
		for i, r := range rec.Weights {
			if r.Name == w.Name {
				place.offset, place.size, place.factor = r.Offset, r.Size, i
			}
		}
		if place.factor < 0 && graph != passes.EmbedGraph {
			return nil, fmt.Errorf("module: graph %s: weight %s is in no record", graph, w.Name)
		}
		p.weights = append(p.weights, place)
	}
	return p, nil
}

// checkLayer compares a layer's records with what its class needs.
func (m *Model) checkLayer(l int, c *class) error {
	dense, experts := m.records(l)
	if len(dense) != 1 {
		return fmt.Errorf("layer %d: %d dense records, want 1", l, len(dense))
	}
	if err := checkRecord(dense[0], c.record, c.name); err != nil {
		return err
	}
	if len(experts) != c.n {
		return fmt.Errorf("layer %d: %d expert records, the router chooses among %d", l, len(experts), c.n)
	}
	for e, r := range experts {
		if r.Index != e {
			return fmt.Errorf("layer %d: no record of expert %d", l, e)
		}
		if err := checkRecord(r, c.expert, c.callee.graph.Name); err != nil {
			return err
		}
	}
	return checkStride(experts, m.pkg.Manifest.Align)
}

func checkRecord(r layout.Record, want passes.Record, class string) error {
	if r.Class != class || r.Length != want.Len || len(r.Factors) != len(want.Weights) {
		return fmt.Errorf("record of layer %d index %d: class %s, %d bytes, %d factors; the module wants %s, %d, %d",
			r.Layer, r.Index, r.Class, r.Length, len(r.Factors), class, want.Len, len(want.Weights))
	}
	return nil
}

// records returns the manifest's records of a layer, in order.
func (m *Model) records(l int) (dense, experts []layout.Record) {
	pick := func(rs []layout.Record) []layout.Record {
		from, _ := slices.BinarySearchFunc(rs, l, func(r layout.Record, l int) int { return cmp.Compare(r.Layer, l) })
		to, _ := slices.BinarySearchFunc(rs, l+1, func(r layout.Record, l int) int { return cmp.Compare(r.Layer, l) })
		return rs[from:to]
	}
	return pick(m.pkg.Manifest.Dense), pick(m.pkg.Manifest.Experts)
}

// bound returns the buffers of a phase's weights in a record that lies at off.
func (p *phase) bound(mem lower.Mem, off int64, factors []float32) []lower.Buffer {
	out := make([]lower.Buffer, len(p.weights))
	for i, w := range p.weights {
		out[i] = lower.Buffer{Mem: mem, Off: off + w.offset, Len: w.size, Type: w.typ, Factor: factors[w.factor]}
	}
	return out
}
