package lower

import (
	"fmt"

	"estream/ir"
)

// An ExpertGraph is what a group call must know of an expert's graph.
type ExpertGraph struct {
	X, Rows, W, Y int    // inputs x, rows i32[R], w f32[R] and y; the one output is written over y
	R             string // the symbol R
	Weights       []ExpertWeight
}

// An ExpertWeight is a weight of an expert's graph and its place in a record.
type ExpertWeight struct {
	Name         string
	Type         ir.Type
	Offset, Size int64
}

// ExpertOf returns what group calls of g must know, its matrices being in packing
// p; nil if g is no expert's graph.
func ExpertOf(g *ir.Graph, p Packing) (*ExpertGraph, error) {
	x := &ExpertGraph{}
	inputs := map[string]*int{"x": &x.X, "rows": &x.Rows, "w": &x.W, "y": &x.Y}
	in, found := g.Inputs(), 0
	for i, v := range in {
		if at := inputs[v.Name]; at != nil {
			*at = i
			found++
		}
	}
	if found != len(inputs) || len(g.Outputs) != 1 || g.Homes()[g.Outputs[0]] != in[x.Y] {
		return nil, nil
	}
	rows := in[x.Rows].Type
	if rows.Rank() != 1 || rows.DType != ir.I32 || rows.Dims[0].Sym == "" || rows.Dims[0].N != 0 || !in[x.W].Type.Equal(rows.WithDType(ir.F32)) {
		return nil, nil
	}
	x.R = rows.Dims[0].Sym
	for _, w := range g.Weights() {
		off := int64(w.Attr.(ir.WeightAttr).Offset)
		size, err := WeightSize(p, w.Type, IsMatrix(g, w))
		if err == nil && (off < 0 || off%Align != 0) {
			err = fmt.Errorf("offset %d is no multiple of %d", off, Align)
		}
		if err != nil {
			return nil, fmt.Errorf("weight %s of an expert: %w", w.Name, err)
		}
		x.Weights = append(x.Weights, ExpertWeight{w.Name, w.Type, off, size})
	}
	return x, nil
}

// Routed reports whether the experts of a call give input i.
func (x *ExpertGraph) Routed(i int) bool { return i == x.Rows || i == x.W }

// Check reports what makes e unfit for a call whose x and y have so many rows. The
// record of an expert without rows is not looked at.
func (x *ExpertGraph) Check(e *Expert, rows int) error {
	if len(e.Rows) != len(e.W) || len(e.Factors) != len(x.Weights) {
		return fmt.Errorf("%d rows, %d weights of rows and %d factors, want as many weights as rows and %d factors", len(e.Rows), len(e.W), len(e.Factors), len(x.Weights))
	}
	last := int32(-1)
	for i, r := range e.Rows {
		if r <= last || int(r) >= rows {
			return fmt.Errorf("rows[%d] is %d after %d, want rows to ascend below %d", i, r, last, rows)
		}
		last = r
	}
	if len(e.Rows) == 0 {
		return nil
	}
	if err := e.Record.Check(0); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for i, w := range x.Weights {
		if w.Offset > e.Record.Len || w.Size > e.Record.Len-w.Offset {
			return fmt.Errorf("weight %s: its %d bytes at %d are not within the record's %d", w.Name, w.Size, w.Offset, e.Record.Len)
		}
		if !w.Type.DType.Encoded() {
			continue
		}
		if err := CheckFactor(e.Factors[i]); err != nil {
			return fmt.Errorf("weight %s: %w", w.Name, err)
		}
	}
	return nil
}

// Weight returns where weight i lies in an expert's record.
func (x *ExpertGraph) Weight(e *Expert, i int) Buffer {
	w := &x.Weights[i]
	return Buffer{Mem: e.Record.Mem, Off: e.Record.Off + w.Offset, Len: w.Size, Type: w.Type, Factor: e.Factors[i]}
}
