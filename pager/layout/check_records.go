package layout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

func expertName(r Record) string { return fmt.Sprintf("layer %d expert %d", r.Layer, r.Index) }
func denseName(r Record) string  { return fmt.Sprintf("layer %d dense %d", r.Layer, r.Index) }
func rowsName(r Region) string   { return fmt.Sprintf("rows %q", r.Name) }

// A bounds is a file in which things stand at multiples of align.
type bounds struct {
	file        string
	align, size int64
}

// place says which part of L2 a thing breaks, overlaps apart; "" is none.
func (b bounds) place(offset, length int64) string {
	switch {
	case length < 1:
		return fmt.Sprintf("length %d is impossible", length)
	case offset < 0:
		return fmt.Sprintf("offset %d is impossible", offset)
	case offset%b.align != 0:
		return fmt.Sprintf("offset %d is not a multiple of %d", offset, b.align)
	case offset > b.size || length > b.size-offset:
		return fmt.Sprintf("%d bytes at offset %d run past the end of the file, %d", length, offset, b.size)
	case roundUp(length, b.align) > b.size-offset:
		return fmt.Sprintf("%d bytes at offset %d, rounded up to %d, run past the end of the file, %d", length, offset, b.align, b.size)
	}
	return ""
}

func (b bounds) checkRecords(records []Record, name func(Record) string) error {
	for i, r := range records {
		rule := cmp.Or(b.record(r), factors(r.Factors))
		if rule == "" && i > 0 {
			rule = after(records[i-1], r, name)
		}
		if rule != "" {
			return &Error{b.file, name(r), rule}
		}
	}
	return nil
}

func (b bounds) record(r Record) string {
	if min(r.Layer, r.Index) < 0 || max(r.Layer, r.Index) > math.MaxInt32 {
		return "layer or index is impossible"
	}
	return b.place(r.Offset, r.Length)
}

func factors(fs []float32) string {
	for i, f := range fs {
		if badFactor(f) {
			return fmt.Sprintf("factor %d is %v", i, f)
		}
	}
	return ""
}

func badFactor(f float32) bool {
	return f == 0 || math.IsNaN(float64(f)) || math.IsInf(float64(f), 0)
}

func after(before, r Record, name func(Record) string) string {
	switch order := cmp.Or(cmp.Compare(before.Layer, r.Layer), cmp.Compare(before.Index, r.Index)); {
	case order == 0:
		return "is there twice"
	case order > 0:
		return "comes after " + name(before) + ": records ascend by layer, then index"
	}
	return ""
}

// checkLayers checks L4, and that experts belong to a layer there is. A package
// with no dense records has nothing to count layers by.
func (m *Manifest) checkLayers() error {
	if len(m.Dense) == 0 {
		return nil
	}
	layers := m.Dense[len(m.Dense)-1].Layer
	for i, r := range m.Dense {
		want := Record{Layer: min(i, layers), Index: max(0, i-layers)}
		if r.Layer != want.Layer || r.Index != want.Index {
			return &Error{DenseName, denseName(r), "stands where " + denseName(want) + " belongs"}
		}
	}
	if n := len(m.Experts); n > 0 && m.Experts[n-1].Layer >= layers {
		return &Error{ExpertsName, expertName(m.Experts[n-1]), fmt.Sprintf("there are %d layers", layers)}
	}
	return nil
}

func (b bounds) checkRegions(regions []Region) error {
	names := make(map[string]bool, len(regions))
	for _, r := range regions {
		rule := b.region(r)
		switch {
		case rule != "":
		case names[r.Name]:
			rule = "is there twice"
		case int64(len(r.Blocks)) != r.blocks():
			rule = fmt.Sprintf("%d block checksums, not %d", len(r.Blocks), r.blocks())
		case badFactor(r.Factor):
			rule = fmt.Sprintf("factor is %v", r.Factor)
		}
		if rule != "" {
			return &Error{b.file, rowsName(r), rule}
		}
		names[r.Name] = true
	}
	return nil
}

// region is place for a region, checksums and factor apart.
func (b bounds) region(r Region) string {
	switch {
	case r.Name == "":
		return "has no name"
	case r.Rows < 1 || r.RowBytes < 1:
		return fmt.Sprintf("%d rows of %d bytes are impossible", r.Rows, r.RowBytes)
	case r.RowStride < r.RowBytes:
		return fmt.Sprintf("row stride %d is less than a row's %d bytes", r.RowStride, r.RowBytes)
	case r.Rows > b.size/r.RowStride:
		return fmt.Sprintf("%d rows of %d bytes are more than the file, %d", r.Rows, r.RowStride, b.size)
	}
	return b.place(r.Offset, r.Size())
}

// blocks is the number of checksummed blocks.
func (r Region) blocks() int64 { return roundUp(r.Size(), BlockSize) / BlockSize }

// An extent is what a record or region takes of its file, padding included.
type extent struct {
	start, end int64
	id         int // place in its list; regions follow records
}

// checkOverlaps takes for granted that each thing lies in its file.
func (m *Manifest) checkOverlaps() error {
	if a, b, ok := overlap(m.extents(m.Experts)); ok {
		name := func(x extent) string { return expertName(m.Experts[x.id]) }
		return overlapError(ExpertsName, a, b, name)
	}
	dense := m.extents(m.Dense)
	for i, r := range m.Rows {
		dense = append(dense, extent{r.Offset, r.Offset + roundUp(r.Size(), m.Align), len(m.Dense) + i})
	}
	if a, b, ok := overlap(dense); ok {
		name := func(x extent) string {
			if i := x.id - len(m.Dense); i >= 0 {
				return rowsName(m.Rows[i])
			}
			return denseName(m.Dense[x.id])
		}
		return overlapError(DenseName, a, b, name)
	}
	return nil
}

func (m *Manifest) extents(records []Record) []extent {
	out := make([]extent, len(records))
	for i, r := range records {
		out[i] = extent{r.Offset, r.Offset + r.Stride(m.Align), i}
	}
	return out
}

// overlap sorts the extents and gives the first two that share bytes.
func overlap(xs []extent) (a, b extent, ok bool) {
	slices.SortFunc(xs, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.id, b.id))
	})
	for i := 1; i < len(xs); i++ {
		if xs[i].start < xs[i-1].end {
			return xs[i-1], xs[i], true
		}
	}
	return extent{}, extent{}, false
}

func overlapError(file string, a, b extent, name func(extent) string) error {
	return &Error{file, name(b), fmt.Sprintf("offset %d overlaps %s, which ends at %d", b.start, name(a), a.end)}
}
