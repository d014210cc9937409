package pack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
)

// A stored is what a package holds of a model: the values of each weight.
type stored struct {
	man    *layout.Manifest
	values map[string][]float32 // by name of the weight, layer and expert
	types  map[string]ir.DType  // by name of the weight
}

// load verifies a package and unpacks all of it.
func load(t testing.TB, dir string, p lower.Packing) stored {
	t.Helper()
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	require.NoError(t, layout.Verify(t.Context(), pkg, nil))
	ops, err := ir.Core()
	require.NoError(t, err)
	module, err := ir.Parse(pkg.Manifest.Module, ops)
	require.NoError(t, err)
	records, err := passes.Records(module, p)
	require.NoError(t, err)
	s := stored{pkg.Manifest, map[string][]float32{}, map[string]ir.DType{}}
	files := contents(t, dir)
	for _, r := range s.man.Experts {
		s.record(t, files[layout.ExpertsName], r, records[r.Class], p)
	}
	columns := layout.RunColumns(int(s.man.Rows[0].Rows), len(s.man.Dense)-len(module.Layers)-1, 32)
	for _, r := range s.man.Dense {
		class := records[r.Class]
		if r.Class == "head.proj" {
			n := min(columns, int(s.man.Rows[0].Rows)-(r.Index-1)*columns)
			class, err = class.Bind(p, lower.Dims{"P": n})
			require.NoError(t, err)
		}
		s.record(t, files[layout.DenseName], r, class, p)
	}
	s.table(t, files[layout.DenseName], module.Graph("embed").Weights()[0].Type)
	return s
}

func key(name string, layer, expert int) string { return fmt.Sprintf("%s %d %d", name, layer, expert) }

// record unpacks the weights of a record; runs of the head are joined.
func (s stored) record(t testing.TB, file string, r layout.Record, class passes.Record, p lower.Packing) {
	require.Equal(t, class.Len, r.Length, "%s of layer %d", r.Class, r.Layer)
	require.Len(t, r.Factors, len(class.Weights))
	for i, w := range class.Weights {
		data := []byte(file[r.Offset+w.Offset:][:w.Size])
		k := key(w.Name, r.Layer, r.Index)
		if r.Class == "head.proj" {
			k = key(w.Name, 0, 0)
		}
		s.types[w.Name] = w.Type.DType
		if !w.Matrix {
			require.EqualValues(t, 1, r.Factors[i])
			s.values[k] = append(s.values[k], plainValues(t, data, w.Type)...)
			continue
		}
		m, err := p.Unpack(data, w.Type)
		require.NoError(t, err)
		m.Factor = r.Factors[i]
		s.values[k] = append(s.values[k], m.Values()...)
	}
}

// table unpacks the embeddings.
func (s stored) table(t testing.TB, file string, typ ir.Type) {
	r := s.man.Rows[0]
	s.types[r.Name] = typ.DType
	for i := range r.Rows {
		row := []byte(file[r.Offset+i*r.RowStride:][:r.RowBytes])
		vs := plainValues(t, row, ir.Tensor(typ.DType, ir.N(1), typ.Last()))
		for j := range vs {
			vs[j] *= r.Factor
		}
		s.values[key(r.Name, 0, 0)] = append(s.values[key(r.Name, 0, 0)], vs...)
	}
}

// plainValues reads what lower.PackPlain writes.
func plainValues(t testing.TB, data []byte, typ ir.Type) (out []float32) {
	switch typ.DType {
	case ir.F32:
		return slices.Clone(lower.F32(data))
	case ir.BF16:
		for _, x := range lower.U16(data) {
			out = append(out, quant.FromBF16(x))
		}
	case ir.W8:
		k := typ.Last().N
		scale := quant.FromF16(uint16(data[k]) | uint16(data[k+1])<<8)
		for _, q := range lower.I8(data[:k]) {
			out = append(out, float32(q)*scale)
		}
	default:
		t.Fatalf("no plain values of %s", typ)
	}
	return out
}
