package passes

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"estream/ir"
	"estream/lower"
)

// A Record is the weights that one address binds: those of an expert, of a layer,
// of the head's norm, or of one run of the head's columns.
type Record struct {
	Class   string
	Len     int64          // bytes, a multiple of lower.Align
	Weights []RecordWeight // ascending by Offset
}

// A RecordWeight is a weight and its place in a record. A type with symbols, as
// the head's, has neither offset nor size until Bind gives it some.
type RecordWeight struct {
	Name         string
	Type         ir.Type
	Matrix       bool  // read by matmul, and so packed; otherwise plain
	Offset, Size int64 // bytes; Offset is a multiple of lower.Align
}

// Records returns the records of a module that was laid out, by class: that of
// each callee of experts, of each class of layers, "head.norm" and "head.proj".
// It is an error if weights of a record overlap, as in a module from elsewhere
// they may.
func Records(m *ir.Module, p lower.Packing) (map[string]Record, error) {
	records := map[string]Record{}
	for _, o := range owners(m) {
		r, err := o.record(p)
		if err == nil {
			err = o.checkOffsets()
		}
		if err == nil {
			err = r.place(func(w RecordWeight) int64 { return offsetOf(o.weights[w.Name][0]) })
		}
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", o.class, err)
		}
		records[o.class] = r
	}
	return records, nil
}

func offsetOf(w *ir.Value) int64 { return int64(w.Attr.(ir.WeightAttr).Offset) }

// Bind returns r with the symbols of its weights' types bound and the weights
// laid one after another: the record of a run of dims["P"] columns of the head.
func (r Record) Bind(p lower.Packing, dims lower.Dims) (Record, error) {
	out := Record{Class: r.Class, Weights: slices.Clone(r.Weights)}
	for i := range out.Weights {
		w := &out.Weights[i]
		t, err := dims.Bind(w.Type)
		if err == nil {
			w.Type = t
			w.Size, err = weightSize(p, *w)
		}
		if err != nil {
			return Record{}, fmt.Errorf("record %s: weight %s: %w", r.Class, w.Name, err)
		}
	}
	err := out.place(out.next)
	return out, err
}

// next is the offset after the last weight placed.
func (r *Record) next(RecordWeight) int64 { return r.Len }

// place sets the offsets of r's weights, in order, and its length.
func (r *Record) place(offset func(RecordWeight) int64) error {
	r.Len = 0
	for i := range r.Weights {
		w := &r.Weights[i]
		w.Offset = offset(*w)
		if w.Offset < 0 || w.Offset%lower.Align != 0 || w.Offset > maxRecord {
			return fmt.Errorf("weight %s at offset %d: want a multiple of %d in the record", w.Name, w.Offset, lower.Align)
		}
		r.Len = max(r.Len, lower.RoundUp(w.Offset+w.Size, lower.Align))
	}
	slices.SortStableFunc(r.Weights, func(a, b RecordWeight) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := 1; i < len(r.Weights); i++ {
		if a, b := r.Weights[i-1], r.Weights[i]; a.Offset+a.Size > b.Offset {
			return fmt.Errorf("weight %s at %d overlaps %s, %d bytes at %d: was the layout pass run?", b.Name, b.Offset, a.Name, a.Size, a.Offset)
		}
	}
	return nil
}

// maxRecord bounds offsets and sizes, so that no sum of them overflows.
const maxRecord = min(math.MaxInt, 1<<48)

// weightSize returns the bytes of a weight; 0 if its type has symbols.
func weightSize(p lower.Packing, w RecordWeight) (int64, error) {
	if slices.ContainsFunc(w.Type.Dims, func(d ir.Dim) bool { return d.Sym != "" }) {
		return 0, nil
	}
	n, err := lower.WeightSize(p, w.Type, w.Matrix)
	if err == nil && (n < 1 || n > maxRecord) {
		err = fmt.Errorf("type %s takes %d bytes", w.Type, n)
	}
	return n, err
}
