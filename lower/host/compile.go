package host

import (
	"cmp"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
)

// A compiler turns one graph into a program.
//
// A value lies where its root does (Graph.Homes). A root that an output lies in
// is the call's output buffer; others have the slot that plan-memory gave them,
// or one of their own.
type compiler struct {
	*program
	root   map[*ir.Value]*ir.Value
	place  map[*ir.Value]int // of roots
	slotOf map[int]int       // slots by number in the graph
	holds  map[int]*ir.Value // the root in each place, to see H3
	spares map[spare]int     // slots for operands in another form
}

func (c *compiled) compile(g *ir.Graph) (*program, error) {
	k := &compiler{
		program: &program{c: c, graph: g, dims: lower.Dims{}},
		root:    g.Homes(), place: map[*ir.Value]int{},
		slotOf: map[int]int{}, holds: map[int]*ir.Value{}, spares: map[spare]int{},
	}
	if err := k.ports(); err != nil {
		return nil, err
	}
	if err := k.writes(); err != nil {
		return nil, err
	}
	k.outputPlaces()
	for _, v := range g.Values {
		if v.Op == ir.Input || v.Op == ir.Weight {
			continue
		}
		if err := k.value(v); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Label(), err)
		}
	}
	for i, v := range g.Outputs {
		k.copyOut(v, i)
	}
	k.at = make([]lower.Buffer, k.firstSlot()+len(k.slots))
	return k.program, k.expert()
}

// ports lists what a call binds, and checks that it can be.
func (k *compiler) ports() error {
	for _, v := range k.graph.Values {
		if err := k.c.backend.Supports(v); err != nil {
			return fmt.Errorf("%s: %w", v.Label(), err)
		}
		p := port{name: cmp.Or(v.Name, v.String()), want: v.Type, size: size}
		switch v.Op {
		case ir.Input:
			k.place[v] = len(k.inputs)
			k.inputs = append(k.inputs, p)
		case ir.Weight:
			matrix := lower.IsMatrix(k.graph, v)
			p.size = func(t ir.Type) (int64, error) { return lower.WeightSize(k.c.packing, t, matrix) }
			k.weights = append(k.weights, p)
			if err := k.checkWeight(v); err != nil {
				return fmt.Errorf("%s: %w", v.Label(), err)
			}
		}
	}
	for i, v := range k.graph.Weights() {
		k.place[v] = len(k.inputs) + i
	}
	for _, v := range k.graph.Outputs {
		k.outputs = append(k.outputs, port{name: cmp.Or(v.Name, v.String()), want: v.Type, size: size})
	}
	return nil
}

// checkWeight refuses a matrix that is needed both packed and plain.
func (k *compiler) checkWeight(w *ir.Value) error {
	if !lower.IsMatrix(k.graph, w) {
		return nil
	}
	plain := slices.Contains(k.graph.Outputs, w)
	for _, v := range k.graph.Values {
		for i, a := range v.Args {
			plain = plain || a == w && (v.Op != ir.MatMul || i != 1)
		}
	}
	if plain {
		return fmt.Errorf("weight %s is read by matmul and otherwise, and so cannot be packed: %w", w.Type, lower.ErrUnsupported)
	}
	return nil
}

// writes refuses what writes over a weight.
func (k *compiler) writes() error {
	for _, v := range k.graph.Values {
		if v.Overwrites() != nil && k.root[v].Op == ir.Weight {
			return fmt.Errorf("%s: writes over the weight %s: %w", v.Label(), k.root[v].Label(), lower.ErrUnsupported)
		}
	}
	return nil
}

// outputPlaces puts roots in the outputs that lie in them.
func (k *compiler) outputPlaces() {
	first := len(k.inputs) + len(k.weights)
	for i, v := range k.graph.Outputs {
		if _, ok := k.place[k.root[v]]; !ok {
			k.place[k.root[v]] = first + i
		}
	}
}

// value adds the instruction that computes v.
func (k *compiler) value(v *ir.Value) error {
	r := k.root[v]
	if v.Op == ir.Reshape && r != v {
		return k.read(v.Args[0])
	}
	in := &instruction{Exec: Exec{Op: v.Op, Attr: v.Attr, pool: k.c.pool}, label: v.Label()}
	op, ok := k.c.backend.core[v.Op]
	if in.run = op.run; !ok {
		in.run = k.c.backend.ops[v.Op]
	}
	for i, a := range v.Args {
		if err := k.read(a); err != nil {
			return err
		}
		place, t := k.operand(in, i, a, op.raw != i+1)
		in.from, in.In = append(in.from, place), append(in.In, lower.Buffer{Type: k.own(t)})
	}
	if op.space != nil {
		k.space(in, op.space(k.c.backend, v))
	}
	if r == v {
		k.placeOf(v)
	}
	in.to, in.Out.Type = k.place[r], k.own(v.Type)
	if slices.Contains(in.from, in.to) && r == v {
		return fmt.Errorf("slot %d is an operand's", v.Slot)
	}
	k.holds[in.to] = r
	k.code = append(k.code, in)
	return nil
}

// space gives in a last operand: as many words of working memory as it asks for.
func (k *compiler) space(in *instruction, words int) {
	if words == 0 {
		return
	}
	key := spare{len(in.from), false}
	s, ok := k.spares[key]
	if !ok {
		s = k.newSlot(false)
		k.spares[key] = s
	}
	t := ir.Tensor(ir.F32, ir.N(words))
	k.slots[s].types = append(k.slots[s].types, t)
	in.from, in.In = append(in.from, k.firstSlot()+s), append(in.In, lower.Buffer{Type: t})
}

// read checks that the place of a still holds it.
func (k *compiler) read(a *ir.Value) error {
	r := k.root[a]
	if h := k.holds[k.place[r]]; h != nil && h != r {
		return fmt.Errorf("operand %s lies in slot %d, where %s was put", a, r.Slot, h)
	}
	return nil
}

// placeOf gives the root v its place.
func (k *compiler) placeOf(v *ir.Value) {
	if _, ok := k.place[v]; ok {
		return
	}
	s, ok := k.slotOf[v.Slot]
	if !ok || v.Slot == 0 {
		s = k.newSlot(false)
		k.slotOf[v.Slot] = s
	}
	k.slots[s].types = append(k.slots[s].types, v.Type)
	k.place[v] = k.firstSlot() + s
}

func (k *compiler) newSlot(packed bool) int {
	k.slots = append(k.slots, slot{packed: packed})
	return len(k.slots) - 1
}

// copyOut adds the copy of output i, v, unless it was computed there.
func (k *compiler) copyOut(v *ir.Value, i int) {
	to := len(k.inputs) + len(k.weights) + i
	from := k.place[k.root[v]]
	if from == to {
		return
	}
	k.code = append(k.code, &instruction{
		Exec: Exec{In: []lower.Buffer{{Type: k.own(v.Type)}}, Out: lower.Buffer{Type: k.own(v.Type)}, pool: k.c.pool},
		run:  move, label: v.Label(), from: []int{from}, to: to,
	})
}

// own returns a copy of t whose symbols are set before each Run.
func (k *compiler) own(t ir.Type) ir.Type {
	t.Dims = slices.Clone(t.Dims)
	for i := range t.Dims {
		if t.Dims[i].Sym != "" {
			k.open = append(k.open, extent{&t.Dims[i], t.Dims[i]})
		}
	}
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		t.Parts[i] = k.own(t.Parts[i])
	}
	return t
}
