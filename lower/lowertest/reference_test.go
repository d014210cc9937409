package lowertest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host/kernel"
)

// reference is the interpreter as a backend: it shows that the suite can be
// passed, and runs on the host what an NPU refuses.
type reference struct{ NPU }

func (*reference) Name() string { return "reference" }

func (*reference) Supports(v *ir.Value) error {
	if !slices.Contains(ir.CoreOps(), v.Op) {
		return fmt.Errorf("reference: %s of %v: no such operator: %w", v.Op, operandTypes(v), lower.ErrUnsupported)
	}
	return nil
}

func (r *reference) Packings() []lower.Packing {
	return append(r.NPU.Packings(), kernel.Packing)
}

func (r *reference) Compile(_ context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	return &referenceModule{r, m, p}, nil
}

func (r *reference) Load(context.Context, *ir.Module, lower.Packing, []byte) (lower.Compiled, error) {
	return nil, lower.ErrUnsupported
}

type referenceModule struct {
	*reference
	module  *ir.Module
	packing lower.Packing
}

func (m *referenceModule) Artifact() ([]byte, error)                   { return nil, nil }
func (m *referenceModule) Footprint(string, lower.Dims) (int64, error) { return 0, nil }
func (m *referenceModule) Close() error                                { return nil }
func (m *referenceModule) Alloc(n, a int64) (lower.Mem, error)         { return hostMem(aligned(n, a)), nil }
func (m *referenceModule) Program(g string) (lower.Program, error) {
	if m.module.Graph(g) == nil {
		return nil, fmt.Errorf("no graph %s", g)
	}
	return referenceProgram{m, m.module.Graph(g)}, nil
}

type referenceProgram struct {
	*referenceModule
	graph *ir.Graph
}

func (p referenceProgram) Run(_ context.Context, c *lower.Call) error {
	in, err := p.read(c)
	if err != nil {
		return err
	}
	if !p.grouped(c) {
		return p.eval(c, in)
	}
	for _, e := range c.Group {
		if len(e.Factors) != len(p.graph.Weights()) || len(e.Rows) != len(e.W) {
			return fmt.Errorf("reference: %d factors, %d rows, %d weights of rows", len(e.Factors), len(e.Rows), len(e.W))
		}
		in["rows"], in["w"] = interp.Ints(e.Rows, len(e.Rows)), interp.Floats(e.W, len(e.W))
		for i, w := range p.graph.Weights() {
			b := e.Record
			b.Off += int64(w.Attr.(ir.WeightAttr).Offset)
			b.Len -= int64(w.Attr.(ir.WeightAttr).Offset)
			b.Type, b.Factor = w.Type, e.Factors[i]
			if in[w.Name], err = p.weight(w, b); err != nil {
				return err
			}
		}
		if err := p.eval(c, in); err != nil {
			return err
		}
	}
	return nil
}

func (p referenceProgram) at(name string) int {
	return slices.IndexFunc(p.graph.Inputs(), func(v *ir.Value) bool { return v.Name == name })
}

// grouped reports whether c is a group call of an expert graph.
func (p referenceProgram) grouped(c *lower.Call) bool {
	i := p.at("rows")
	return p.at("w") >= 0 && i >= 0 && i < len(c.In) && c.In[i].Mem == nil
}

// eval evaluates the graph; what it writes in place is in the tensors of in too.
func (p referenceProgram) eval(c *lower.Call, in tensors) error {
	out, err := interp.Eval(p.module, p.graph, in, interp.Options{})
	if err != nil {
		return err
	}
	for i, x := range out {
		store(c.Out[i], x)
	}
	return nil
}

// read loads and checks what the call gives.
func (p referenceProgram) read(c *lower.Call) (tensors, error) {
	ins, weights := p.graph.Inputs(), p.graph.Weights()
	group := p.grouped(c)
	if len(c.In) != len(ins) || len(c.Out) != len(p.graph.Outputs) || !group && len(c.Weights) != len(weights) {
		return nil, fmt.Errorf("reference: %d inputs, %d weights, %d outputs", len(c.In), len(c.Weights), len(c.Out))
	}
	in, dims := tensors{}, lower.Dims{}
	for i, v := range ins {
		if group && (v.Name == "rows" || v.Name == "w") {
			continue
		}
		if err := fitting(dims, v, c.In[i]); err != nil {
			return nil, err
		}
		in[v.Name] = load(c.In[i])
	}
	for i, v := range p.graph.Outputs {
		if err := fitting(dims, v, c.Out[i]); err != nil {
			return nil, err
		}
	}
	for i, w := range weights {
		if group {
			break
		}
		if !c.Weights[i].Type.Equal(w.Type) {
			return nil, fmt.Errorf("reference: weight %s has type %s", w.Name, c.Weights[i].Type)
		}
		var err error
		if in[w.Name], err = p.weight(w, c.Weights[i]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (p referenceProgram) weight(w *ir.Value, b lower.Buffer) (*interp.Tensor, error) {
	size, err := weightSize(p.graph, w, p.packing)
	if err != nil {
		return nil, err
	}
	if err := within(b, size); err != nil {
		return nil, fmt.Errorf("reference: weight %s: %w", w.Name, err)
	}
	b.Len = size
	return loadWeight(b.Bytes(), p.graph, w, b.Factor, p.packing)
}

func fitting(dims lower.Dims, v *ir.Value, b lower.Buffer) error {
	if err := dims.Match(v.Type, b.Type); err != nil {
		return err
	}
	return within(b, lower.Size(b.Type))
}

func within(b lower.Buffer, size int64) error {
	if size == 0 {
		return nil
	}
	if b.Mem == nil || b.Off < 0 || b.Len < size || b.Len > int64(len(b.Mem.Bytes()))-b.Off {
		return fmt.Errorf("buffer %d+%d does not hold %d bytes", b.Off, b.Len, size)
	}
	return nil
}

func TestReference(t *testing.T) { RunAll(t, &reference{}, Options{}) }
