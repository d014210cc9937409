package interp

import (
	"fmt"
	"maps"
	"slices"

	"estream/ir"
)

// routed is the rows of one expert: tokens, ascending, and their weights.
type routed struct {
	rows []int32
	w    []float32
}

func (r routed) tensors() (rows, w *Tensor) {
	return Ints(r.rows, len(r.rows)), Floats(r.w, len(r.w))
}

// experts runs each expert that a token names on its tokens, and adds what it
// returns. A body and the callee that was made of it give the same bits.
func experts(c *Call) (*Tensor, error) {
	if c.frame.Experts == nil {
		return nil, fmt.Errorf("Options.Experts is nil, so there are no weights for it")
	}
	by, err := route(c.Args[1], c.Args[2])
	if err != nil {
		return nil, err
	}
	y := New(c.Type)
	for _, e := range slices.Sorted(maps.Keys(by)) {
		in, err := c.frame.Experts(c.Value, e)
		if err == nil {
			err = c.expert(by[e], maps.Clone(in), y)
		}
		if err != nil {
			return nil, fmt.Errorf("expert %d: %w", e, err)
		}
	}
	return y, nil
}

// route turns ids [T,k] and weights [T,k] into the rows of each expert.
func route(ids, weights *Tensor) (map[int]routed, error) {
	by := map[int]routed{}
	_, k := ids.rows()
	for i, id := range ids.I {
		if id < 0 {
			return nil, fmt.Errorf("token %d: id %d is negative", i/k, id)
		}
		r := by[int(id)]
		by[int(id)] = routed{append(r.rows, int32(i/k)), append(r.w, weights.F[i])}
	}
	return by, nil
}

// expert adds the output of one expert, whose weights in holds, to y.
func (c *Call) expert(r routed, in map[string]*Tensor, y *Tensor) error {
	if in == nil {
		in = map[string]*Tensor{}
	}
	f := &frame{Options: c.frame.Options, module: c.frame.module, graph: c.Value.Body, in: in}
	rows, w := r.tensors()
	if f.graph != nil {
		return f.body(c.Args[0], rows, w, y)
	}
	name := c.Value.Attr.(ir.ExpertsAttr).Callee
	if f.module != nil {
		f.graph = f.module.Graph(name)
	}
	if f.graph == nil {
		return fmt.Errorf("callee %q is not in the module", name)
	}
	in["x"], in["rows"], in["w"], in["y"] = c.Args[0], rows, w, y
	out, err := f.run()
	if err == nil && (len(out) != 1 || out[0] != y) {
		err = fmt.Errorf("callee %q does not return y written in place", name)
	}
	return err
}

// body does what an extracted expert does around its body.
func (f *frame) body(x, rows, w, y *Tensor) error {
	gathered := x.Type
	gathered.Dims = append([]ir.Dim{rows.Type.Dims[0]}, x.Type.Dims[1:]...)
	picked, err := gatherRows(&Call{Type: gathered, Args: []*Tensor{x, rows}})
	if err != nil {
		return err
	}
	f.in[f.graph.Inputs()[0].Name] = picked
	out, err := f.run()
	if err != nil {
		return err
	}
	scaled, err := scaleRows(&Call{Type: out[0].Type, Args: []*Tensor{out[0], w}})
	if err != nil {
		return err
	}
	_, err = scatterAdd(&Call{Args: []*Tensor{y, scaled, rows}})
	return err
}

func scaleRows(c *Call) (*Tensor, error) {
	x, w, out := c.Args[0], c.Args[1], New(c.Type)
	_, k := x.rows()
	for i, e := range x.F {
		out.F[i] = e * w.F[i/k]
	}
	return out, nil
}

func scatterAdd(c *Call) (*Tensor, error) {
	y, x, rows := c.Args[0], c.Args[1], c.Args[2].I
	n, k := y.rows()
	if err := within(rows, n); err != nil {
		return nil, err
	}
	for i, e := range x.F {
		y.F[int(rows[i/k])*k+i%k] += e
	}
	return y, nil
}
