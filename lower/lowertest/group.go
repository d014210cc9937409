package lowertest

import (
	"context"
	"fmt"
	"maps"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// A groupCase is what a layer's experts are called with.
type groupCase struct {
	graph   *ir.Graph // the callee
	x, y    *interp.Tensor
	routes  []routed
	weights []tensors // of each expert
}

// A group is a groupCase on a stage.
type group struct {
	groupCase
	stage stage
	call  lower.Call
}

// newGroupCase makes random tensors for the routes.
func newGroupCase(g *ir.Graph) groupCase {
	r, dims := newSource(g.String()), lower.Dims{"T": 13}
	random := func(v *ir.Value) *interp.Tensor {
		t, err := dims.Bind(v.Type)
		if err != nil {
			panic("lowertest: " + err.Error())
		}
		return r.tensor(t)
	}
	c := groupCase{graph: g, x: random(g.Value("x")), y: random(g.Value("y")), routes: routes()}
	for range c.routes {
		weights := tensors{}
		for _, w := range g.Weights() {
			weights[w.Name] = random(w)
		}
		c.weights = append(c.weights, weights)
	}
	return c
}

// stage puts the experts on a stage of x.
func (c groupCase) stage(p lower.Packing, x lower.Compiled) (*group, error) {
	s := &group{groupCase: c}
	size, err := recordSize(c.graph, p)
	if err != nil {
		return nil, err
	}
	xb := s.stage.add("input x", c.x.Type, lower.Size(c.x.Type), false)
	yb := s.stage.add("y", c.y.Type, lower.Size(c.y.Type), true)
	var records []lower.Buffer
	for i := range c.routes {
		records = append(records, s.stage.add(fmt.Sprint("record ", i), ir.Type{}, size, false))
	}
	if err := s.stage.open(x); err != nil {
		return nil, err
	}
	xb.Mem, yb.Mem = s.stage.mem, s.stage.mem
	store(xb, c.x)
	store(yb, c.y)
	s.call = lower.Call{In: []lower.Buffer{xb, {}, {}, yb}, Out: []lower.Buffer{yb}}
	for i, r := range c.routes {
		e := lower.Expert{Record: records[i], Rows: r.rows, W: r.w}
		e.Record.Mem = s.stage.mem
		for _, w := range c.graph.Weights() {
			n, err := weightSize(c.graph, w, p)
			if err != nil {
				return nil, err
			}
			dst := e.Record.Bytes()[w.Attr.(ir.WeightAttr).Offset:][:n]
			if err := storeWeight(dst, c.graph, w, c.weights[i][w.Name], p); err != nil {
				return nil, err
			}
			e.Factors = append(e.Factors, factor(c.weights[i][w.Name]))
		}
		s.call.Group = append(s.call.Group, e)
	}
	s.stage.start()
	return s, nil
}

// recordSize returns where the last weight of g ends.
func recordSize(g *ir.Graph, p lower.Packing) (int64, error) {
	end := int64(0)
	for _, w := range g.Weights() {
		n, err := weightSize(g, w, p)
		if err != nil {
			return 0, err
		}
		end = max(end, int64(w.Attr.(ir.WeightAttr).Offset)+lower.RoundUp(n, lower.Align))
	}
	return end, nil
}

// factor returns the factor of a weight's buffer.
func factor(w *interp.Tensor) float32 {
	if w.Q == nil {
		return 1
	}
	return w.Q.Factor
}

// run calls the experts in groups of the given sizes.
func (s *group) run(x lower.Compiled, cut []int) error {
	all := s.call.Group
	for _, size := range cut {
		c := s.call
		c.Group, all = all[:size], all[size:]
		if err := runCall(context.Background(), x, s.graph.Name, &c); err != nil {
			return err
		}
	}
	return nil
}

// compare judges y after all experts have run.
func (s *group) compare(tol Tolerance) error {
	want, err := s.eval()
	if err != nil {
		return err
	}
	return compare("y", load(s.call.Out[0]), want, tol)
}

// eval returns y as the interpreter leaves it.
func (c groupCase) eval() (*interp.Tensor, error) {
	y := clone(c.y)
	for i, r := range c.routes {
		in := tensors{"x": c.x, "y": y, "rows": interp.Ints(r.rows, len(r.rows)), "w": interp.Floats(r.w, len(r.w))}
		maps.Copy(in, c.weights[i])
		if _, err := interp.Eval(nil, c.graph, in, interp.Options{}); err != nil {
			return nil, err
		}
	}
	return y, nil
}
