package lowertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// apart is the tolerance for results of the same rows in other company.
func (o Options) apart(otherwise Tolerance) Tolerance {
	if o.Tiered {
		return otherwise
	}
	return Tolerance{0, "rows do not depend on the rows beside them"}
}

// rowByRow repeats a call whose rows are independent with its first row alone,
// and then the others.
func (c testCase) rowByRow(x lower.Compiled, call *lower.Call, o Options) error {
	t := call.Out[0].Type.Dims
	for _, v := range append(c.graph.Inputs(), c.graph.Outputs...) {
		if v.Type.Rank() == 0 || v.Type.Dims[0] != ir.T {
			return nil
		}
	}
	if t[0].N < 2 {
		return nil
	}
	whole := make([]*interp.Tensor, len(call.Out))
	for i, b := range call.Out {
		whole[i] = load(b)
		poison(b.Bytes())
	}
	for _, r := range [][2]int{{0, 1}, {1, t[0].N}} {
		part := &lower.Call{Weights: call.Weights}
		for _, b := range call.In {
			part.In = append(part.In, b.Rows(r[0], r[1]))
		}
		for _, b := range call.Out {
			part.Out = append(part.Out, b.Rows(r[0], r[1]))
		}
		if err := runCall(context.Background(), x, c.graph.Name, part); err != nil {
			return fmt.Errorf("rows %d to %d: %w", r[0], r[1]-1, err)
		}
	}
	for i, b := range call.Out {
		if err := compare(fmt.Sprintf("output %d, its first row alone", i), load(b), whole[i], o.apart(c.tolerance(o))); err != nil {
			return err
		}
	}
	return nil
}

// testChunks runs steps of attention whole and cut in two.
func testChunks(t *testing.T, b lower.Backend, o Options) {
	for i, s := range steps {
		for j, a := range attentionShapes {
			c := attention(s, a, []ir.DType{ir.F32, ir.BF16}[(i+j)%2], []int{0, 3}[j%2])
			m := &ir.Module{Layers: []string{"c0"}, Graphs: []*ir.Graph{c.graph}}
			if !supported(t, b, o, m, c.graph) {
				o.refused(t, ir.Attention, c.name)
				continue
			}
			if err := c.checkChunks(b, o, m, s); err != nil {
				t.Errorf("%s in chunks: %v\n%s", c.name, err, c.graph)
			}
		}
	}
}

func (c testCase) checkChunks(b lower.Backend, o Options, m *ir.Module, s step) (err error) {
	p := b.Packings()[0]
	x, m, err := compile(b, p, o, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	c.graph = m.Graph(c.graph.Name)
	whole, err := c.outputs(x, p)
	if err != nil {
		return err
	}
	y, state := interp.New(whole[0].Type), c.in["state"]
	for _, part := range s.halves() {
		in, rows := part.tensors(), part.rows(s)
		in["base"], in["state"] = c.in["base"], state
		for _, name := range []string{"q", "k", "v"} {
			in[name] = pick(c.in[name], rows)
		}
		out, err := testCase{graph: c.graph, in: in}.outputs(x, p)
		if err != nil {
			return err
		}
		width := len(y.F) / max(y.Type.Dims[0].N, 1)
		for i, r := range rows {
			copy(y.F[r*width:(r+1)*width], out[0].F[i*width:])
		}
		state = out[1]
	}
	return errors.Join(
		compare("output out", y, whole[0], o.apart(c.tolerance(o))),
		compare("output state.next", state, whole[1], o.apart(c.tolerance(o))))
}

// outputs runs the case and returns its outputs.
func (c testCase) outputs(x lower.Compiled, p lower.Packing) ([]*interp.Tensor, error) {
	s, call, err := c.prepare(x, p)
	if err != nil {
		return nil, err
	}
	s.start()
	err = runCall(context.Background(), x, c.graph.Name, call)
	var out []*interp.Tensor
	for _, b := range call.Out {
		out = append(out, load(b))
	}
	return out, errors.Join(err, s.intact(), s.mem.Free())
}

// halves cuts each sequence of a step in two. Parents go whole into the first
// half: their children see all of their rows.
func (s step) halves() []step {
	first, second := s, s
	first.new, second.new, second.past = nil, nil, nil
	for b, n := range s.new {
		half := n / 2
		if slices.Contains(s.parent, b) {
			half = n
		}
		first.new = append(first.new, half)
		second.new, second.past = append(second.new, n-half), append(second.past, s.past[b]+half)
	}
	return []step{first, second}
}

// rows returns which rows of the whole step the part has.
func (s step) rows(whole step) []int {
	var rows []int
	at := 0
	for b, n := range whole.new {
		skip := s.past[b] - whole.past[b]
		for i := range s.new[b] {
			rows = append(rows, at+skip+i)
		}
		at += n
	}
	return rows
}

// pick returns rows of x.
func pick(x *interp.Tensor, rows []int) *interp.Tensor {
	t := x.Type
	t.Dims = append([]ir.Dim{ir.N(len(rows))}, t.Dims[1:]...)
	y := interp.New(t)
	width := len(y.F) / max(len(rows), 1)
	for i, r := range rows {
		copy(y.F[i*width:(i+1)*width], x.F[r*width:])
	}
	return y
}
