package check

import (
	"fmt"
	"io"
	"os"
	"slices"

	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host"
	"estream/pager/layout"
	"estream/passes"
)

// A pkg is a package as the interpreter needs it: the stored graphs, and its
// weights unpacked.
type pkg struct {
	*layout.Package
	module         *ir.Module
	packing        lower.Packing
	records        map[string]passes.Record
	experts, dense *os.File // experts is nil if no layer has any
}

func openPackage(dir string, o Options) (_ *pkg, err error) {
	found, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	p := &pkg{Package: found}
	defer func() {
		if err != nil {
			p.close()
			err = fmt.Errorf("package %s: %w", dir, err)
		}
	}()
	if err := p.parse(o); err != nil {
		return nil, err
	}
	if p.dense, err = os.Open(found.Path(layout.DenseName)); err != nil {
		return nil, err
	}
	if len(found.Manifest.Experts) > 0 {
		p.experts, err = os.Open(found.Path(layout.ExpertsName))
	}
	return p, err
}

// parse reads the stored graphs and finds the weights' places in records.
func (p *pkg) parse(o Options) error {
	ops, err := o.ops()
	if err != nil {
		return err
	}
	if p.module, err = ir.Parse(p.Manifest.Module, ops); err != nil {
		return err
	}
	if err := p.module.Verify(); err != nil {
		return err
	}
	known := append(host.New(host.Options{}).Packings(), o.Runtime.Packings...)
	if o.Runtime.Device != nil {
		known = append(known, o.Runtime.Device.Packings()...)
	}
	if o.Runtime.Host != nil {
		known = append(known, o.Runtime.Host.Packings()...)
	}
	i := slices.IndexFunc(known, func(x lower.Packing) bool { return x.Name == p.Manifest.Packing })
	if i < 0 {
		return fmt.Errorf("packed for %q, which no backend here reads", p.Manifest.Packing)
	}
	p.packing = known[i]
	p.records, err = passes.Records(p.module, p.packing)
	return err
}

func (p *pkg) close() {
	for _, f := range []*os.File{p.experts, p.dense} {
		if f != nil {
			f.Close() // it was only read
		}
	}
}

// encoded reports whether any weight has codes and scales.
func (p *pkg) encoded() bool {
	for _, g := range p.module.Graphs {
		if slices.ContainsFunc(g.Weights(), func(w *ir.Value) bool { return w.Type.DType.Encoded() }) {
			return true
		}
	}
	return false
}

// expert returns the weights of an expert of a layer.
func (p *pkg) expert(layer int, callee string, expert int) (map[string]*interp.Tensor, error) {
	i := slices.IndexFunc(p.Manifest.Experts, func(r layout.Record) bool { return r.Layer == layer && r.Index == expert })
	if i < 0 {
		return nil, fmt.Errorf("no record of expert %d of layer %d", expert, layer)
	}
	return p.weights(p.experts, p.records[callee], p.Manifest.Experts[i])
}

// weights unpacks the weights that lie in one record of a file.
func (p *pkg) weights(f io.ReaderAt, class passes.Record, at layout.Record) (map[string]*interp.Tensor, error) {
	if class.Len != at.Length || len(class.Weights) != len(at.Factors) {
		return nil, fmt.Errorf("record of layer %d index %d is none of class %s", at.Layer, at.Index, class.Class)
	}
	data := make([]byte, at.Length)
	if _, err := f.ReadAt(data, at.Offset); err != nil {
		return nil, err
	}
	out := map[string]*interp.Tensor{}
	for i, w := range class.Weights {
		t, err := p.unpack(data[w.Offset:w.Offset+w.Size], w, at.Factors[i])
		if err != nil {
			return nil, fmt.Errorf("weight %s of layer %d index %d: %w", w.Name, at.Layer, at.Index, err)
		}
		out[w.Name] = t
	}
	return out, nil
}

func (p *pkg) unpack(data []byte, w passes.RecordWeight, factor float32) (*interp.Tensor, error) {
	if !w.Matrix {
		return plain(data, w.Type, factor)
	}
	m, err := p.packing.Unpack(data, w.Type)
	return weight(m, w.Type, factor), err
}

// plain reads what lower.PackPlain writes.
func plain(data []byte, t ir.Type, factor float32) (*interp.Tensor, error) {
	m, err := lower.UnpackPlain(data, t)
	return weight(m, t, factor), err
}

func weight(m *quant.Matrix, t ir.Type, factor float32) *interp.Tensor {
	switch {
	case m == nil:
		return nil
	case m.DType.Encoded():
		m.Factor = factor
		return interp.Matrix(m)
	}
	x := interp.New(t)
	copy(x.F, m.F)
	return x
}
