// Package weights reads the weights of packages and checkpoints tensor by tensor,
// under one naming, and measures them: their range, what each encoding would cost
// them, and how alike the experts of a layer are.
//
// Tensors are named as the family names them, whatever the file calls them, so that
// a package, a GGUF file and a folder of safetensors of one model have the same
// names. Where no family knows a checkpoint they have the file's names.
//
// Memory does not grow with the model: a Reader holds the block of rows that it was
// last asked for as it is stored, or, where a packing does not arrange blocks of rows
// one by one, the codes of one matrix. Measure keeps the numbers of each tensor, and
// of the layer that it is at a sample of each expert.
package weights

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"estream/ir"
)

// An ID names a weight of a model.
type ID struct {
	Layer  int    `json:"layer"`  // -1: of no layer
	Expert int    `json:"expert"` // -1: of no expert
	Name   string `json:"name"`   // as the family's table has it
}

func (id ID) String() string {
	switch {
	case id.Layer < 0:
		return id.Name
	case id.Expert < 0:
		return fmt.Sprintf("layer %d %s", id.Layer, id.Name)
	}
	return fmt.Sprintf("layer %d expert %d %s", id.Layer, id.Expert, id.Name)
}

// Compare orders by layer, name and expert.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Layer, other.Layer), cmp.Compare(id.Name, other.Name), cmp.Compare(id.Expert, other.Expert))
}

// A Tensor is a stored weight.
type Tensor struct {
	ID
	Type  string // of its elements as stored: w4g64, bf16, Q4_0
	Shape []int

	// Open returns what reads the tensor, for one goroutine.
	Open func() Reader

	strips []*strip // of a package
}

// Rows is how many rows the tensor has: of its first extent, and one of a vector.
func (t Tensor) Rows() int {
	if len(t.Shape) < 2 {
		return 1
	}
	return t.Shape[0]
}

// Width is how many values a row has.
func (t Tensor) Width() int {
	n := 1
	for _, d := range t.Shape[min(1, max(0, len(t.Shape)-1)):] {
		n *= d
	}
	return n
}

// Values is how many values the tensor has.
func (t Tensor) Values() int64 { return int64(t.Rows()) * int64(t.Width()) }

// A Reader sets dst to the values of whole rows, from row on.
type Reader func(ctx context.Context, row int, dst []float32) error

// block is how many values are read at a time, about.
const block = 2 << 20

// BlockRows is how many rows of the tensor are best read at a time: whole panels of
// a packed matrix.
func (t Tensor) BlockRows() int {
	n := max(1, block/max(1, t.Width()))
	if n > panel {
		n -= n % panel
	}
	return max(1, min(n, t.Rows()))
}

// A Set is the weights of a package or a checkpoint. Readers are for one goroutine
// each; any number may read at once, until Close.
type Set struct {
	Tensors []Tensor   // by ID
	Module  *ir.Module // their graphs; nil where no family knows them
	Close   func() error

	// Unnamed says why the tensors have the file's names and not a family's; nil
	// where they have the family's.
	Unnamed error
}

func (s *Set) sorted() *Set {
	slices.SortFunc(s.Tensors, func(a, b Tensor) int { return a.ID.Compare(b.ID) })
	return s
}
