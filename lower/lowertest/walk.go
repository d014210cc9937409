package lowertest

import (
	"errors"
	"fmt"
	"maps"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/passes"
)

// A walker runs a module's layers twice: the phases that stand on a backend
// there, and all of them on the interpreter.
type walker struct {
	m        *ir.Module
	packing  lower.Packing
	on       string // what stands on the backend
	compiled lower.Compiled
	tol      Tolerance
	layers   []*layerMemory
}

// A layerMemory is what a layer keeps between steps.
type layerMemory struct {
	weights   tensors
	experts   []tensors
	got, want *interp.Tensor // the state, twice
}

// walkSteps are a prompt of two sequences and what follows, in a state of 16 rows.
func walkSteps() []tensors {
	var ts []tensors
	for _, s := range []step{{new: []int{5, 4}, past: []int{0, 0}}, {new: []int{1, 3}, past: []int{5, 4}}} {
		in := s.tensors()
		in["base"] = interp.Ints([]int32{9, 1}, 2)
		ts = append(ts, in)
	}
	return ts
}

// run walks the steps through all layers.
func (w *walker) run() error {
	r := newSource("walk")
	for i := range w.m.Layers {
		l, err := w.newLayer(i, r)
		if err != nil {
			return err
		}
		w.layers = append(w.layers, l)
	}
	for i, step := range walkSteps() {
		x := r.tensor(f32(step["pos"].Type.Dims[0], n(layerWidth)))
		got, want := maps.Clone(step), maps.Clone(step)
		got["x"], want["x"] = x, x
		for j, l := range w.layers {
			if err := w.layer(w.m.Layers[j], l, got, want); err != nil {
				return fmt.Errorf("step %d, layer %d: %w", i, j, err)
			}
			got["x"], want["x"] = got["y"], want["y"]
		}
	}
	return nil
}

// newLayer makes random weights and an empty state.
func (w *walker) newLayer(i int, r source) (*layerMemory, error) {
	l := &layerMemory{weights: tensors{}}
	for _, g := range passes.ClassGraphs(w.m, w.m.Layers[i]) {
		for _, v := range g.Weights() {
			if l.weights[v.Name] == nil {
				l.weights[v.Name] = small(r.tensor(v.Type))
			}
		}
		if v := g.Value("state"); v != nil {
			t, err := lower.Dims{"S": 16}.Bind(v.Type)
			if err != nil {
				return nil, err
			}
			l.got = r.tensor(t)
			l.want = clone(l.got)
		}
		for range layerExperts {
			e := tensors{}
			if callee := w.m.Graph(g.Callee()); callee != nil {
				for _, v := range callee.Weights() {
					e[v.Name] = small(r.tensor(v.Type))
				}
				l.experts = append(l.experts, e)
			}
		}
	}
	return l, nil
}

// small brings the weights of a plain matrix to a trained one's size.
func small(x *interp.Tensor) *interp.Tensor {
	for i := range x.F {
		x.F[i] = rounded(x.Type.DType, x.F[i]/8)
	}
	return x
}

// layer runs the phases of one layer, adding their outputs to what was got and
// is wanted, and compares each.
func (w *walker) layer(class string, l *layerMemory, got, want tensors) error {
	got["state"], want["state"] = l.got, l.want
	maps.Copy(got, l.weights)
	maps.Copy(want, l.weights)
	for _, g := range passes.ClassGraphs(w.m, class) {
		run, eval := w.phase, w.eval
		if g.Callee() != "" {
			run, eval = l.group(w, w.group), l.group(w, groupCase.eval)
		}
		is, err := run(g, got)
		if err != nil {
			return err
		}
		should, err := eval(g, want)
		if err != nil {
			return err
		}
		for i, v := range g.Outputs {
			if err := compare(fmt.Sprintf("graph %s: %s", g.Name, v.Name), plain(is[i]), plain(should[i]), w.tol); err != nil {
				return err
			}
			got[v.Name], want[v.Name] = is[i], should[i]
		}
	}
	l.got, l.want = got["state.next"], want["state.next"]
	return nil
}

// plain returns a quantized activation as the numbers that it stands for.
func plain(x *interp.Tensor) *interp.Tensor {
	if !x.Type.DType.Activation() {
		return x
	}
	f := interp.New(x.Type.WithDType(ir.F32))
	g := len(x.A) / max(len(x.Scale), 1)
	for i, a := range x.A {
		f.F[i] = float32(a) * x.Scale[i/g]
	}
	return f
}

// eval runs a phase on the interpreter.
func (w *walker) eval(g *ir.Graph, in tensors) ([]*interp.Tensor, error) {
	return interp.Eval(w.m, g, cloneAll(in), interp.Options{})
}

// phase runs a phase where it stands.
func (w *walker) phase(g *ir.Graph, in tensors) ([]*interp.Tensor, error) {
	if g.On != w.on {
		return w.eval(g, in)
	}
	return testCase{graph: g, in: in}.outputs(w.compiled, w.packing)
}

// group returns how the experts phase of a layer runs: run is given the experts
// that the tokens are routed to.
func (l *layerMemory) group(w *walker, run func(groupCase) (*interp.Tensor, error)) func(g *ir.Graph, in tensors) ([]*interp.Tensor, error) {
	return func(g *ir.Graph, in tensors) ([]*interp.Tensor, error) {
		e := g.Outputs[0]
		x, ids, weights := in[e.Args[0].Name], in[e.Args[1].Name], in[e.Args[2].Name]
		c := groupCase{graph: w.m.Graph(g.Callee()), x: x, y: interp.New(x.Type.WithDType(ir.F32)), routes: make([]routed, layerExperts), weights: l.experts}
		for i, id := range ids.I {
			r := &c.routes[id]
			r.rows, r.w = append(r.rows, int32(i/layerActive)), append(r.w, weights.F[i])
		}
		y, err := run(c)
		return []*interp.Tensor{y}, err
	}
}

// group runs experts where their graph stands, in two groups.
func (w *walker) group(c groupCase) (*interp.Tensor, error) {
	if c.graph.On != w.on {
		return c.eval()
	}
	s, err := c.stage(w.packing, w.compiled)
	if err != nil {
		return nil, err
	}
	err = s.run(w.compiled, []int{2, layerExperts - 2})
	return load(s.call.Out[0]), errors.Join(err, s.stage.intact(), s.stage.mem.Free())
}
