package interp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"estream/ir"
)

// dims binds symbols to extents.
type dims map[string]int

// bind checks the tensors given for inputs and weights and binds the symbols of
// their types.
func (f *frame) bind() error {
	f.dims = dims{}
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
		if !f.dims.match(v.Type, t.Type) {
			return f.errorf(v, "type is %s, want %s%s", t.Type, v.Type, f.dims)
		}
	}
	return nil
}

// match binds the symbols of want so that it becomes got, if it can.
func (d dims) match(want, got ir.Type) bool {
	if want.DType != got.DType || want.Kind != got.Kind || len(want.Dims) != len(got.Dims) || len(want.Parts) != len(got.Parts) {
		return false
	}
	for i, w := range want.Dims {
		n := got.Dims[i].N - w.N
		if _, bound := d[w.Sym]; w.Sym != "" && !bound && n >= 0 {
			d[w.Sym] = n
		}
		if n != d[w.Sym] {
			return false
		}
	}
	for i := range want.Parts {
		if !d.match(want.Parts[i], got.Parts[i]) {
			return false
		}
	}
	return true
}

// bind returns t with numbers for its symbols.
func (d dims) bind(t ir.Type) (ir.Type, error) {
	extents, parts := t.Dims, t.Parts
	t.Dims, t.Parts = nil, nil
	for _, e := range extents {
		n, ok := d[e.Sym]
		if e.Sym != "" && !ok {
			return t, fmt.Errorf("extent %s is not bound", e)
		}
		t.Dims = append(t.Dims, ir.N(n+e.N))
	}
	for _, p := range parts {
		b, err := d.bind(p)
		if err != nil {
			return t, err
		}
		t.Parts = append(t.Parts, b)
	}
	return t, nil
}

// String lists what is bound, for errors: " with S=8 T=3".
func (d dims) String() string {
	var b strings.Builder
	for _, sym := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintf(&b, " %s=%d", sym, d[sym])
	}
	if b.Len() == 0 {
		return ""
	}
	return " with" + b.String()
}
