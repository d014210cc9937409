package interp

import "estream/ir"

// bind checks the tensors given for inputs and weights and binds the symbols of
// their types.
func (f *frame) bind() error {
	f.dims = ir.Dims{}
	for _, v := range f.graph.Values {
		if v.Op != ir.Input && v.Op != ir.Weight {
			continue
		}
		t, ok := f.in[v.Name]
		if !ok || v.Name == "" {
			return f.errorf(v, "no tensor is given for it")
		}
		if err := t.check(); err != nil {
			return f.errorf(v, "%w", err)
		}
		if err := f.dims.Match(v.Type, t.Type); err != nil {
			return f.errorf(v, "%w", err)
		}
	}
	return nil
}
