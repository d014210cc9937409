package static

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// A tier is a graph of fixed extents that stands in for a signature.
type tier struct {
	graph   *ir.Graph
	exe     Executable
	rows    int // extent of the program's rows
	past    int // S; 0 for a graph without a state
	bodies  int // experts that one run takes; 1 for other graphs
	columns int // P; 0 for a graph whose weights have all columns
	in, out []slot
	weights []bound // what each of the graph's is
	sizes   []int64 // bytes of each of the signature's
	bytes   int64   // where the last slot ends in the device's memory
	ran     bool
}

// A role says what an input is filled with, or what becomes of an output.
type role uint8

const (
	padded role = iota // rows of an input or output of the signature
	mask               // which keys a query sees
	state              // rows of a part of the state: those before the chunk, or its own
)

// A slot is one input or output of a tier and its place in the device's memory.
type slot struct {
	lower.Buffer
	role role
	i    int // which input, output or part of the state
	body int // of an expert's
}

// A bound says which of the signature's weights one is, and of which body.
type bound struct{ i, body int }

// newTier fits g, whose extents are dims, to the program's signature.
func (p *program) newTier(g *ir.Graph, dims lower.Dims) (*tier, error) {
	t := &tier{graph: g, rows: dims[p.rows.Sym], past: dims[ir.S.Sym], bodies: max(dims["G"], 1), columns: dims[ir.P.Sym]}
	if t.rows == 0 || len(dims) != 1+min(t.past, 1)+min(dims["G"], 1)+min(t.columns, 1) || (t.past > 0) != p.grows() || dims["G"] > 0 && p.expert == nil || (t.columns > 0) != p.some {
		return nil, fmt.Errorf("want a tier of %s, of S for a graph with a state alone, of G for an expert alone, and of P for weights with P columns alone", p.rows)
	}
	var err error
	if t.sizes, err = p.sizesOf(dims); err != nil {
		return nil, err
	}
	if _, grouped := dims["G"]; grouped && t.bodies == 1 {
		return nil, fmt.Errorf("want a tier of one expert to have no G")
	}
	for _, v := range g.Inputs() {
		name, body, err := t.own(v.Name)
		if err != nil {
			return nil, err
		}
		s, err := p.input(name, t)
		if err != nil {
			return nil, err
		}
		s.body = body
		if err := t.place(&t.in, s, v, dims); err != nil {
			return nil, err
		}
	}
	var want []slot
	for body := range t.bodies {
		for _, s := range p.outputs() {
			s.body = body
			want = append(want, s)
		}
	}
	if len(g.Outputs) != len(want) {
		return nil, fmt.Errorf("it has %d outputs, want %d", len(g.Outputs), len(want))
	}
	for i, v := range g.Outputs {
		if err := t.place(&t.out, want[i], v, dims); err != nil {
			return nil, err
		}
	}
	for _, w := range g.Weights() {
		name, body, err := t.own(w.Name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(p.graph.Weights(), func(v *ir.Value) bool {
			of, err := dims.Bind(v.Type)
			return err == nil && v.Name == name && of.Equal(w.Type)
		})
		if i < 0 {
			return nil, fmt.Errorf("weight %s of type %s is none of %s's", w.Name, w.Type, p.graph.Name)
		}
		t.weights = append(t.weights, bound{i, body})
	}
	return t, nil
}

// own returns the name that a value of one of t's bodies has in the signature.
func (t *tier) own(name string) (string, int, error) {
	if t.bodies == 1 {
		return name, 0, nil
	}
	own, body, ok := passes.CutBodyName(name)
	if !ok || body >= t.bodies {
		return "", 0, fmt.Errorf("%s is of none of the %d bodies", name, t.bodies)
	}
	return own, body, nil
}

// input returns what fills t's input of a name, and its type in symbols.
func (p *program) input(name string, t *tier) (slot, error) {
	if p.convs && name == "past.0" {
		return slotOf(state, 0, ir.Tensor(ir.F32, p.graph.Inputs()[p.state].Type.Parts[0].Dims[1:]...)), nil
	}
	if p.grows() && name == "mask" {
		return slotOf(mask, 0, ir.Tensor(ir.F32, p.rows, ir.N(t.past+t.rows))), nil
	}
	if n, ok := strings.CutPrefix(name, "past."); ok && p.grows() {
		i, err := strconv.Atoi(n)
		if parts := p.graph.Inputs()[p.state].Type.Parts; err == nil && i >= 0 && i < len(parts) {
			return slotOf(state, i, withRows(parts[i], ir.S)), nil
		}
	}
	if i := p.at(name); i >= 0 {
		v := p.graph.Inputs()[i].Type
		if p.expert != nil && name == "x" || v.Rank() > 0 && v.Dims[0] == p.rows {
			return slotOf(padded, i, withRows(v, p.rows)), nil
		}
	}
	return slot{}, fmt.Errorf("input %q cannot be made of rows of %s's inputs", name, p.graph.Name)
}

// outputs returns what becomes of a tier's outputs, and their types in symbols:
// the signature's in order, then the new rows of each part of the state.
func (p *program) outputs() []slot {
	var outs, news []slot
	for i, v := range p.graph.Outputs {
		if v.Type.DType != ir.State {
			outs = append(outs, slotOf(padded, i, withRows(v.Type, p.rows)))
		}
		for part, t := range v.Type.Parts {
			if p.convs {
				t.Dims = t.Dims[1:]
			}
			news = append(news, slotOf(state, part, withRows(t, p.rows)))
		}
	}
	return append(outs, news...)
}

func slotOf(r role, i int, t ir.Type) slot {
	return slot{role: r, i: i, Buffer: lower.Buffer{Type: t}}
}

func withRows(t ir.Type, rows ir.Dim) ir.Type {
	t.Dims = append([]ir.Dim{rows}, t.Dims[min(1, len(t.Dims)):]...)
	return t
}

// maxBytes bounds a slot, so that no sum of them overflows.
const maxBytes = 1 << 40

// place appends the slot s of v, whose type must be the slot's at the tier's
// extents, and gives it its offset. Rows of a state may be of any float type:
// they are converted.
func (t *tier) place(to *[]slot, s slot, v *ir.Value, dims lower.Dims) error {
	want, err := dims.Bind(s.Type)
	if err != nil {
		return err
	}
	if s.role == state && v.Type.DType.Float() {
		want.DType = v.Type.DType
	}
	if !want.Equal(v.Type) {
		return fmt.Errorf("%s:%s has type %s, want %s", v, v.Name, v.Type, want)
	}
	elements := int64(1)
	for _, d := range v.Type.Dims {
		if d.N < 1 || elements > maxBytes/8/int64(d.N) {
			return fmt.Errorf("%s:%s of type %s is too large", v, v.Name, v.Type)
		}
		elements *= int64(d.N)
	}
	s.Buffer = lower.Buffer{Off: t.bytes, Len: lower.Size(v.Type), Type: v.Type}
	t.bytes += lower.RoundUp(s.Len, align)
	*to = append(*to, s)
	return nil
}

// settle gives the slots their memory.
func (t *tier) settle(m lower.Mem) {
	for _, slots := range [][]slot{t.in, t.out} {
		for i := range slots {
			slots[i].Mem = m
		}
	}
}

func buffers(slots []slot) []lower.Buffer {
	b := make([]lower.Buffer, len(slots))
	for i, s := range slots {
		b[i] = s.Buffer
	}
	return b
}
