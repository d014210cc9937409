package qnn

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/native"
)

// A lowering turns one graph of fixed extents into a description of QNN's and
// what its inputs are bound to.
type lowering struct {
	*target
	graph    *ir.Graph
	desc     native.Desc
	bind     []binding            // of the inputs of desc, in order
	tensors  map[string]int       // place in desc.Tensors, by name
	at       map[*ir.Value]string // the tensor of a value, computed in l.float
	made     map[string]string    // constants, and inputs that several values share, by what they hold
	readable map[*ir.Value]bool   // outputs whose tensor is the caller's
	err      error                // the first
}

// lowered is a graph as the library builds and as a call binds it.
type lowered struct {
	desc *native.Desc
	in   []binding
	out  []int // which output of the graph each of desc's is
}

// lower returns g for t. Matrices are in Packing.
func (t *target) lower(g *ir.Graph) (*lowered, error) {
	l := &lowering{
		target: t, graph: g, desc: native.Desc{Name: g.Name},
		tensors: map[string]int{}, at: map[*ir.Value]string{}, made: map[string]string{}, readable: map[*ir.Value]bool{},
	}
	for _, v := range g.Values {
		if v.Op == ir.Input || v.Op == ir.Weight {
			continue // bound where they are first read
		}
		if err := supports(v); err != nil {
			return nil, err
		}
		if rows[v.Op].lower(l, v); l.err != nil {
			return nil, fmt.Errorf("%s: %w", v.Label(), l.err)
		}
	}
	outs := l.outputs()
	return &lowered{&l.desc, l.bind, outs}, l.err
}

// tensor adds a tensor and returns its name.
func (l *lowering) tensor(t native.Tensor) string {
	if t.Name == "" {
		t.Name = fmt.Sprintf("t%d", len(l.desc.Tensors))
	}
	if _, taken := l.tensors[t.Name]; taken {
		t.Name = fmt.Sprintf("%s.%d", t.Name, len(l.desc.Tensors))
	}
	l.tensors[t.Name] = len(l.desc.Tensors)
	l.desc.Tensors = append(l.desc.Tensors, t)
	return t.Name
}

// input adds a tensor that each call binds to b.
func (l *lowering) input(t native.Tensor, b binding) string {
	t.Kind = native.AppWrite
	l.bind = append(l.bind, b)
	return l.tensor(t)
}

// temp adds a tensor between nodes, in the type that graphs compute in.
func (l *lowering) temp(dims ...int) string {
	return l.tensor(native.Tensor{Kind: native.Native, Type: l.float, Dims: dims})
}

// dims returns the extents of a tensor.
func (l *lowering) dims(name string) []int { return l.desc.Tensors[l.tensors[name]].Dims }

// constant returns a tensor that holds the same number everywhere.
func (l *lowering) constant(x float32, n int) string {
	key := fmt.Sprint("constant ", x, n)
	if l.made[key] == "" {
		data := make([]byte, n*l.float.Size())
		lower.Encode(data, slices.Repeat([]float32{x}, n), l.floats())
		l.made[key] = l.tensor(native.Tensor{Kind: native.Static, Type: l.float, Dims: []int{n}, Data: data})
	}
	return l.made[key]
}

// node adds a node that writes out, and returns out.
func (l *lowering) node(op string, out string, in []string, params ...native.Param) string {
	l.nodes(op, []string{out}, in, params...)
	return out
}

func (l *lowering) nodes(op string, out, in []string, params ...native.Param) {
	l.desc.Nodes = append(l.desc.Nodes, native.Node{Name: fmt.Sprintf("n%d.%s", len(l.desc.Nodes), op), Op: op, Params: params, In: in, Out: out, Since: since[op]})
}

// result returns the tensor that a row writes v to.
func (l *lowering) result(v *ir.Value) string {
	t := native.Tensor{Name: nameOf(v), Kind: native.Native, Type: l.float, Dims: extents(v.Type)}
	if l.float == native.Float32 && slices.Contains(l.graph.Outputs, v) {
		t.Kind, l.readable[v] = native.AppRead, true
	}
	l.at[v] = l.tensor(t)
	return l.at[v]
}

func nameOf(v *ir.Value) string {
	if v.Name != "" {
		return v.Name
	}
	return fmt.Sprintf("v%d", v.ID)
}

func extents(t ir.Type) []int {
	dims := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = d.N
	}
	return dims
}

// operand returns the tensor of v in the type that graphs compute in.
func (l *lowering) operand(v *ir.Value) string {
	if l.at[v] != "" {
		return l.at[v]
	}
	b := binding{kind: plain, i: l.inputIndex(v), name: nameOf(v), from: v.Type.DType, to: ir.F32}
	if v.Op == ir.Weight {
		b.weight, b.i = true, l.weightIndex(v)
	}
	t := native.Tensor{Name: nameOf(v), Type: native.Float32, Dims: extents(v.Type)}
	if v.Type.DType == ir.F16 {
		t.Type, b.to = native.Float16, ir.F16
	}
	b.bytes = int64(t.Bytes())
	if b.weight && lower.IsMatrix(l.graph, v) { // whose numbers have the type in Packing
		b.from = b.to
	}
	l.at[v] = l.cast(l.input(t, b))
	return l.at[v]
}

// cast returns a tensor in the type that graphs compute in.
func (l *lowering) cast(name string) string {
	if l.desc.Tensors[l.tensors[name]].Type == l.float {
		return name
	}
	return l.node("Cast", l.temp(l.dims(name)...), []string{name})
}

// reshaped returns a tensor with other extents.
func (l *lowering) reshaped(name string, dims ...int) string {
	if slices.Equal(l.dims(name), dims) {
		return name
	}
	return l.node("Reshape", l.temp(dims...), []string{name})
}

// outputs makes the tensors that a call reads, and returns which outputs of the
// graph they are.
func (l *lowering) outputs() []int {
	place := map[string]int{}
	for i, v := range l.graph.Outputs {
		if l.readable[v] {
			l.readable[v], place[l.at[v]] = false, i
			continue
		}
		t := native.Tensor{Name: nameOf(v) + ".out", Kind: native.AppRead, Type: native.Float32, Dims: extents(v.Type)}
		op := "Cast"
		if l.float == native.Float32 {
			op = "Reshape"
		}
		from := l.operand(v)
		place[l.node(op, l.tensor(t), []string{from})] = i
	}
	var order []int
	for _, t := range l.desc.Outputs() {
		order = append(order, place[t.Name])
	}
	return order
}

func elements(t ir.Type) int {
	n := 1
	for _, d := range t.Dims {
		n *= d.N
	}
	return n
}

func (l *lowering) inputIndex(v *ir.Value) int  { return slices.Index(l.graph.Inputs(), v) }
func (l *lowering) weightIndex(v *ir.Value) int { return slices.Index(l.graph.Weights(), v) }
