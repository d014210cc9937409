package qnn_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/static"
	"estream/passes"
)

// A judge is a device that computes each run on the interpreter too, on the same
// values, and keeps how far the device was off. Or it stands in for the device, by
// the interpreter's results alone.
type judge struct {
	static.Device
	mu   sync.Mutex
	off  map[string]float64 // the worst of each graph, tiers apart, as a share of an output's largest
	runs int
	own  bool // whether it stands in for the device
}

func judged(d static.Device, own bool) *judge {
	return &judge{Device: d, off: map[string]float64{}, own: own}
}

func (j *judge) Compile(ctx context.Context, g *ir.Graph, p lower.Packing) (static.Executable, error) {
	if j.own {
		return &judgedGraph{nil, j, g, p}, nil
	}
	e, err := j.Device.Compile(ctx, g, p)
	if err != nil {
		return nil, err
	}
	return &judgedGraph{e, j, g, p}, nil
}

// String lists the graphs and how far they were off.
func (j *judge) String() string {
	var s string
	for _, name := range j.graphs() {
		s += fmt.Sprintf("%s %.2g; ", name, j.off[name])
	}
	return fmt.Sprintf("%d runs: %s", j.runs, s)
}

func (j *judge) graphs() []string {
	var names []string
	for name := range j.off {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

type judgedGraph struct {
	static.Executable
	judge   *judge
	graph   *ir.Graph
	packing lower.Packing
}

func (e *judgedGraph) Run(ctx context.Context, in, weights, out []lower.Buffer) error {
	given := map[string]*interp.Tensor{}
	for i, v := range e.graph.Inputs() {
		t := interp.New(v.Type)
		copy(t.I, lower.I32(in[i].Bytes()))
		copy(t.F, lower.F32(in[i].Bytes()))
		given[v.Name] = t
	}
	for i, w := range e.graph.Weights() {
		t, err := e.weight(w, weights[i])
		if err != nil {
			return err
		}
		given[w.Name] = t
	}
	want, err := interp.Eval(nil, e.graph, given, interp.Options{})
	if err == nil && !e.judge.own {
		err = e.Executable.Run(ctx, in, weights, out)
	}
	if err != nil {
		return err
	}
	e.judge.mu.Lock()
	defer e.judge.mu.Unlock()
	name, _, _ := passes.ParseTier(e.graph.Name)
	for i, w := range want {
		if e.judge.own {
			copy(lower.F32(out[i].Bytes()), w.F)
			continue
		}
		e.judge.off[name] = max(e.judge.off[name], share(lower.F32(out[i].Bytes()), w.F))
	}
	e.judge.runs++
	return nil
}

// Close implements static.Executable.
func (e *judgedGraph) Close() error {
	if e.judge.own {
		return nil
	}
	return e.Executable.Close()
}

func (e *judgedGraph) weight(w *ir.Value, b lower.Buffer) (*interp.Tensor, error) {
	unpack := lower.UnpackPlain
	if lower.IsMatrix(e.graph, w) {
		unpack = e.packing.Unpack
	}
	m, err := unpack(b.Bytes(), w.Type)
	if err != nil {
		return nil, err
	}
	if w.Type.DType.Float() {
		return &interp.Tensor{Type: w.Type, F: m.F}, nil
	}
	m.Factor = b.Factor
	return interp.Matrix(m), nil
}

// share returns the largest difference as a share of the largest value.
func share(got, want []float32) float64 {
	top, worst := 0.0, 0.0
	for i, w := range want {
		top = max(top, math.Abs(float64(w)))
		if d := math.Abs(float64(got[i]) - float64(w)); !(d <= worst) {
			worst = d
		}
	}
	if worst == 0 {
		return 0
	}
	return worst / top
}
