package page

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// A record is what lies where in the records of a class.
type record struct {
	Len     int64    `json:"len"`
	Stride  int64    `json:"stride"`
	Weights []weight `json:"weights"`
}

// A weight is one that a record's address binds.
type weight struct {
	Name   string `json:"n"`
	Type   string `json:"t"`
	Offset int64  `json:"o"` // in the record
	Size   int64  `json:"s"`
	Values int64  `json:"v"`
}

// A flash is where everything lies in the package's two weight files.
type flash struct {
	Align   int64        `json:"align"`
	Experts int64        `json:"experts_size"`
	Dense   int64        `json:"dense_size"`
	Rows    []region     `json:"rows"`
	Parts   []part       `json:"parts"`  // of dense.bin
	Layers  []expertRows `json:"layers"` // of experts.bin
}

// An expertRows is the records of a layer's experts, in the order of their indices.
type expertRows struct {
	Layer   int         `json:"l"`
	Class   string      `json:"c"`
	Index   []int       `json:"i,omitempty"` // left out where it is 0, 1, 2, ...
	Offsets []int64     `json:"o"`
	CRCs    []uint32    `json:"crc,omitempty"`
	Factors [][]float32 `json:"f,omitempty"`
}

// A part is a record of dense.bin.
type part struct {
	Layer   int       `json:"l"`
	Index   int       `json:"i"`
	Class   string    `json:"c"`
	Offset  int64     `json:"o"`
	Len     int64     `json:"len"`
	CRC     uint32    `json:"crc,omitempty"`
	Factors []float32 `json:"f,omitempty"`
}

// A region is the embedding table.
type region struct {
	Name   string  `json:"n"`
	Offset int64   `json:"o"`
	Rows   int64   `json:"rows"`
	Stride int64   `json:"stride"`
	Blocks int     `json:"blocks"`
	Factor float32 `json:"f"`
}

// records describes the records of each class; a run of the head is one of the
// most columns that the package has.
func (s Source) records(all map[string]passes.Record) (map[string]*record, error) {
	out := map[string]*record{}
	for class, r := range all {
		if class == passes.HeadProj {
			var err error
			if r, err = r.Bind(s.Packing, lower.Dims{"P": s.headColumns()}); err != nil {
				return nil, err
			}
		}
		x := &record{Len: r.Len, Stride: layout.Record{Length: r.Len}.Stride(s.Manifest.Align), Weights: []weight{}}
		for _, w := range r.Weights {
			x.Weights = append(x.Weights, weight{w.Name, w.Type.String(), w.Offset, w.Size, values(w.Type)})
		}
		out[class] = x
	}
	return out, s.fit(out)
}

// fit reports a record of the manifest whose class the module has not, or not so
// long. The last run of the head may be shorter than others.
func (s Source) fit(classes map[string]*record) error {
	for _, r := range slices.Concat(s.Manifest.Experts, s.Manifest.Dense) {
		c := classes[r.Class]
		if c == nil || r.Length > c.Len || r.Length < c.Len && r.Class != passes.HeadProj {
			return fmt.Errorf("record of %d bytes of class %q, layer %d, index %d: the module has none like it", r.Length, r.Class, r.Layer, r.Index)
		}
	}
	return nil
}

// headColumns is how many columns a run of the head has, but for the last.
func (s Source) headColumns() int {
	runs := 0
	for _, r := range s.Manifest.Dense {
		if r.Class == passes.HeadProj {
			runs++
		}
	}
	return layout.RunColumns(s.Vocab, max(1, runs), runtime.HeadPanel)
}

// values is how many a tensor of known extents has.
func values(t ir.Type) int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d.N)
	}
	return n
}

func (s Source) flash() flash {
	man := s.Manifest
	f := flash{Align: man.Align, Parts: []part{}, Rows: []region{}, Layers: []expertRows{}}
	for _, x := range man.Files {
		switch x.Name {
		case layout.ExpertsName:
			f.Experts = x.Size
		case layout.DenseName:
			f.Dense = x.Size
		}
	}
	for _, r := range man.Dense {
		f.Parts = append(f.Parts, part{Layer: r.Layer, Index: r.Index, Class: r.Class, Offset: r.Offset, Len: r.Length, CRC: r.CRC, Factors: r.Factors})
	}
	for _, r := range man.Rows {
		f.Rows = append(f.Rows, region{r.Name, r.Offset, r.Rows, r.RowStride, int((r.Size() + layout.BlockSize - 1) / layout.BlockSize), r.Factor})
	}
	for _, r := range man.Experts {
		f.add(r, s.Planned)
	}
	for i := range f.Layers {
		if l := &f.Layers[i]; slices.IsSorted(l.Index) && l.Index[len(l.Index)-1] == len(l.Index)-1 {
			l.Index = nil
		}
	}
	return f
}

// add appends the record of an expert to its layer's. Those of one layer follow
// each other (L3 of layout) and are of one class.
func (f *flash) add(r layout.Record, planned bool) {
	if n := len(f.Layers); n == 0 || f.Layers[n-1].Layer != r.Layer {
		f.Layers = append(f.Layers, expertRows{Layer: r.Layer, Class: r.Class})
	}
	l := &f.Layers[len(f.Layers)-1]
	l.Index, l.Offsets = append(l.Index, r.Index), append(l.Offsets, r.Offset)
	if !planned {
		l.CRCs, l.Factors = append(l.CRCs, r.CRC), append(l.Factors, r.Factors)
	}
}

// callees returns what the experts of each class of layers call.
func callees(m *ir.Module) map[string]string {
	out := map[string]string{}
	for _, class := range m.Layers {
		if callee, n, err := passes.Routed(m, class); err == nil && n > 0 {
			out[class] = callee
		}
	}
	return out
}
