// Package kernel is the arithmetic of the host backend: in plain Go, which runs
// where no assembly does and is what assembly is tested against, and in assembly
// for each instruction set, a Set, that package asm writes.
//
// Kernels work on slices that the caller owns. They start no goroutine, keep no
// address and allocate nothing but errors. Where a caller may split work over
// threads, the kernel takes a range, or the caller passes slices of rows; an
// output element never depends on how the work was split:
//
//	K1 an output element depends on its own row (of x, q or ids) and its own
//	   column (of weights), never on rows, panels or ranges beside it
//	K2 its order of sums depends on K, the encoding and the Set alone
//	K3 what is outside the extents (padding, gaps between rows, masked keys) is
//	   never read as a number
//
// Sets agree exactly where numbers are whole and to a few roundings elsewhere.
// Plain Go rounds multiply and add apart, on every architecture. dst may be the same
// slice as an operand of its size where a function says so.
package kernel

import "estream/ir"

// A Matrix is a view of a weight [N,K] in Packing. It owns nothing.
type Matrix struct {
	DType  ir.DType
	N, K   int
	Data   []byte  // as many bytes as Packing.Size says, at a multiple of 4
	Factor float32 // multiplies the scales of an encoding; ignored otherwise
	Next   []byte  // the Panel that is likely to come after a product with this: a hint; may be nil
}

// PanelColumns is how many output columns a panel has.
const PanelColumns = 32

const (
	blockBytes = 4 * PanelColumns // the codes of a panel's columns in one step of K
	scaleBytes = 2 * PanelColumns // the scales of a panel's columns in one group
)

// Panels returns the number of panels of 32 output columns, the last one padded.
func (w *Matrix) Panels() int { return panels(w.N) }

func panels(n int) int { return (n + PanelColumns - 1) / PanelColumns }

// columns returns how many columns panel p has, padding apart.
func (w *Matrix) columns(p int) int { return min(PanelColumns, w.N-p*PanelColumns) }

// Panel returns the codes or plain numbers of panel p, without scales.
func (w *Matrix) Panel(p int) []byte {
	size := panelBytes(w.DType, w.K)
	return w.Data[p*size : (p+1)*size]
}

// scales returns the 32 f16 scales of group g of panel p.
func (w *Matrix) scales(p, g int) *[scaleBytes]byte {
	off := w.Panels()*panelBytes(w.DType, w.K) + (p*groups(w.DType, w.K)+g)*scaleBytes
	return (*[scaleBytes]byte)(w.Data[off:])
}

// panelBytes is the size of a panel without scales; K is padded to the step.
func panelBytes(d ir.DType, k int) int {
	step := kStep(d)
	return (k + step - 1) / step * step * PanelColumns * d.Bits() / 8
}

// kStep is how many of a column's values stand together in a block.
func kStep(d ir.DType) int {
	switch {
	case !d.Encoded():
		return 1
	case d == ir.W8:
		return 4
	}
	return 8
}

func groups(d ir.DType, k int) int {
	if !d.Encoded() {
		return 0
	}
	return k / d.Group(k)
}
